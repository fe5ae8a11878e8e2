import { isDeepStrictEqual } from 'node:util'
import type { Gateway } from '../gateway/gateway.ts'
import { type Channel, type SendOutcome, sendEvents } from './channel.ts'
import { type DeliveryTarget, findTarget } from './destination-states.ts'
import type { GenerationEvent } from './destinations/event.ts'
import { recordAccepted, recordError, recordFailure, recordGone, recordRejected } from './outcome.ts'
import { countAttempts } from './store.ts'

/** The result of a batch: its last outcome, or null if it was given up. */
interface BatchResult {
  accepted: GenerationEvent[]
  last: SendOutcome | null
}

/** Sends batches at the same time. Returns whether the next ones can be sent. */
export async function deliverBatches(
  gateway: Gateway,
  target: DeliveryTarget,
  channel: Channel,
  batches: readonly GenerationEvent[][],
): Promise<boolean> {
  const results = await Promise.all(batches.map((batch) => deliverBatch(gateway, target, channel, batch)))
  await recordAccepted(
    gateway,
    target,
    results.flatMap(({ accepted }) => accepted),
  )
  const outcomes = results.map(({ last }) => last)
  const gone = outcomes.find((outcome) => outcome?.kind === 'gone')
  if (gone) {
    await recordGone(gateway, target, gone.error)
    return false
  }
  const failed = outcomes.filter((outcome) => outcome?.kind === 'failed')
  // A destination that accepts nothing is failing, whatever it says about the events.
  const isRejectingAll = results.every(({ accepted }) => accepted.length === 0)
  const failure = failed[0] ?? (isRejectingAll ? outcomes.find(isRejection) : undefined)
  if (failure) {
    const retryAfterMs = Math.max(0, ...failed.map((outcome) => outcome.retryAfterMs ?? 0))
    await recordFailure(gateway, target, { error: failure.error, retryAfterMs })
    return false
  }
  return outcomes.every((outcome) => outcome !== null)
}

/** Time after which the rest of a batch waits for the next round: others may need the slot. */
const maxDividingMs = 30_000

function isRejection(outcome: SendOutcome | null): outcome is SendOutcome & { error: string } {
  return outcome?.kind === 'rejected' || outcome?.kind === 'partial'
}

/**
 * Sends a batch. One that is rejected is divided until the events that the destination rejects are found: these fail,
 * the others are delivered.
 */
async function deliverBatch(
  gateway: Gateway,
  target: DeliveryTarget,
  channel: Channel,
  events: GenerationEvent[],
): Promise<BatchResult> {
  const waiting = [events]
  const result: BatchResult = { accepted: [], last: null }
  const startedAt = performance.now()
  let hasProgress = false
  for (let batch = waiting.pop(); batch; batch = waiting.pop()) {
    const isDivided = batch !== events
    if (gateway.delivery.tasks.isClosed || (isDivided && !(await isCurrent(gateway, target))))
      return { ...result, last: null }
    if (hasProgress && performance.now() - startedAt > maxDividingMs) return result
    result.last = await sendEvents(gateway, channel, batch)
    if (result.last.kind === 'accepted') result.accepted.push(...batch)
    else if (result.last.kind === 'partial' && batch.length > 1) {
      result.accepted.push(...batch)
      await recordError(gateway, target, result.last.error)
    } else if (result.last.kind !== 'rejected' && result.last.kind !== 'partial') {
      await countAttempts(
        gateway.db,
        target.row.id,
        batch.map(({ id }) => id),
      )
      return result
    } else if (batch.length === 1) await recordRejected(gateway, target, batch, result.last.error)
    else {
      waiting.push(batch.slice(batch.length >> 1), batch.slice(0, batch.length >> 1))
      continue
    }
    hasProgress = true
  }
  return result
}

/** Whether this node may send what it has read: nothing was changed meanwhile, and no other node took over. */
async function isCurrent({ db, node }: Gateway, { row }: DeliveryTarget): Promise<boolean> {
  const target = await findTarget(db, row.id)
  if (!target?.isBroadcasting || target.state.paused === 1) return false
  return target.state.lease_owner === node.id && isDeepStrictEqual(target.row, row)
}
