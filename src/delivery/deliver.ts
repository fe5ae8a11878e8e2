import type { Gateway } from '../app/gateway.ts'
import type { GenerationEvent } from '../destinations/event.ts'
import { type Channel, type SendOutcome, sendEvents } from './channel.ts'
import { recordAccepted, recordFailure, recordGone, recordRejected } from './outcome.ts'
import type { DeliveryTarget } from './store.ts'

type FinalOutcome = Exclude<SendOutcome, { kind: 'rejected' }>

/**
 * Sends a batch. One that is rejected is divided until the events that the destination rejects are found: these fail,
 * the others are delivered. Returns whether the next batch can be sent.
 */
export async function deliverEvents(
  gateway: Gateway,
  target: DeliveryTarget,
  channel: Channel,
  events: GenerationEvent[],
): Promise<boolean> {
  const waiting = [events]
  let accepted = 0
  let rejection = ''
  for (let batch = waiting.pop(); batch; batch = waiting.pop()) {
    if (gateway.deliveryTasks.isClosed) return false
    const outcome = await sendEvents(gateway, channel, batch)
    if (outcome.kind === 'rejected') {
      rejection = outcome.error
      if (batch.length === 1) await recordRejected(gateway, target, batch, rejection)
      else waiting.push(batch.slice(batch.length >> 1), batch.slice(0, batch.length >> 1))
    } else {
      if (!(await recordFinal(gateway, target, batch, outcome))) return false
      accepted += batch.length
    }
  }
  // A destination that accepts nothing is failing, whatever it says about the events.
  if (accepted === 0) await recordFailure(gateway, target, [], { error: rejection })
  return accepted > 0
}

/** Returns whether the events were accepted. */
async function recordFinal(
  gateway: Gateway,
  target: DeliveryTarget,
  events: GenerationEvent[],
  outcome: FinalOutcome,
): Promise<boolean> {
  if (outcome.kind === 'accepted') await recordAccepted(gateway, target, events)
  else if (outcome.kind === 'failed') await recordFailure(gateway, target, events, outcome)
  else await recordGone(gateway, target, outcome.error)
  return outcome.kind === 'accepted'
}
