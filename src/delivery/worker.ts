import type { Gateway } from '../gateway/gateway.ts'
import type { RunResult } from '../platform/concurrency/repeated-task.ts'
import { subsystemLog } from '../platform/logging/subsystem-log.ts'
import { isoNow } from '../platform/time/clock.ts'
import { runInSlices, yieldToEventLoop } from '../platform/time/time-slicer.ts'
import { type Channel, openChannel } from './channel.ts'
import { deliverBatches } from './deliver.ts'
import { countDropped, findTarget, hasPendingDeliveries, listDueDestinations } from './destination-states.ts'
import type { GenerationEvent } from './destinations/event.ts'
import {
  applySettings,
  type ExportSettings,
  isSelected,
  parseExportSettings,
} from './destinations/export-settings.ts'
import { type CompiledGroup, compileRules, matchEvent } from './destinations/match-rules.ts'
import { withLease } from './lease.ts'
import { openEvent } from './outbox.ts'
import { recordHold } from './outcome.ts'
import { type Delivery, listPending, readEvents, removeDeliveries } from './store.ts'

/** Starts to deliver to every destination that is due, as far as there are free slots. */
export async function runDeliveries(gateway: Gateway): Promise<RunResult> {
  // What is not in the database yet may be an event.
  if (!(await hasPendingDeliveries(gateway.db))) return gateway.ledger.unflushedBytes ? 'busy' : 'idle'
  for (const isFailing of [false, true]) {
    const limit = countFreeSlots(gateway, isFailing)
    if (limit <= 0) continue
    const { db, clock, delivery } = gateway
    for (const id of await listDueDestinations(db, isoNow(clock), { isFailing, limit })) {
      if (countFreeSlots(gateway, isFailing) <= 0) break
      void delivery.tasks.run(`${isFailing ? retryPrefix : ''}${id}`, () => serveDestination(gateway, id))
    }
  }
  return 'busy'
}

const retryPrefix = 'retry/'

/** Counts free slots. Failing destinations get half of them: however many do not respond, the others are served. */
function countFreeSlots({ delivery }: Gateway, isFailing: boolean): number {
  const { free, max } = delivery.tasks
  return isFailing ? Math.min(free, Math.ceil(max / 2) - delivery.tasks.countRunning(retryPrefix)) : free
}

/** Serves a destination. Never throws: what fails is retried later. */
async function serveDestination(gateway: Gateway, id: string): Promise<void> {
  const { log } = gateway
  const tryDeliver = () =>
    deliverQueue(gateway, id).catch(async (err: unknown) => {
      subsystemLog(log, 'delivery').warn(
        { err, destination: id },
        'events could not be sent: they are tried again later',
      )
      await recordHold(gateway, id, 'The gateway could not send the events. Its log has the reason.')
    })
  try {
    await withLease(gateway, id, tryDeliver)
  } catch (err) {
    subsystemLog(log, 'delivery').warn(
      { err, destination: id },
      'the state of a destination could not be stored',
    )
  }
}

/** Delivers until the queue is empty, a batch fails, or others wait for the slot. */
async function deliverQueue(gateway: Gateway, id: string): Promise<void> {
  while (await deliverNext(gateway, id)) {
    if (gateway.delivery.tasks.free > 0) continue
    // The destination that has waited longest is next.
    gateway.delivery.signal.wake()
    return
  }
}

/** Returns whether to continue. The settings are read again every time. */
async function deliverNext(gateway: Gateway, id: string): Promise<boolean> {
  const { db, node, delivery } = gateway
  const target = await findTarget(db, id)
  if (!target || delivery.tasks.isClosed) return false
  const { row, isBroadcasting, state } = target
  // Another node took over while this one was stopped or cut off.
  if (state.lease_owner !== node.id) return false
  if (row.deleted_at !== null || row.enabled === 0 || !isBroadcasting) return dropNext(gateway, id, row.type)
  if (state.paused === 1) return false
  const channel = openChannel(gateway, row)
  if (typeof channel === 'string') return recordHold(gateway, id, channel)
  gateway.audit.secretUses.add('destination', id)
  // One that has failed is tried with a single batch.
  const maxBatches = state.failures > 0 ? 1 : parallelBatches
  const { exporter } = channel
  const limit = Math.min(exporter.maxEvents * maxBatches, maxEvents)
  const pending = takeBytes(await listPending(db, id, limit), Math.max(exporter.maxBytes, maxBytes))
  if (pending.length === 0) return false
  const events = await openEvents(gateway, pending, parseExportSettings(row))
  const excluded = pending.filter(({ event_id }) => !events.has(event_id))
  await removeDeliveries(
    db,
    id,
    excluded.map(({ event_id }) => event_id),
  )
  const wanted = pending.filter(({ event_id }) => events.has(event_id))
  const batches = divide(wanted, exporter)
    .slice(0, maxBatches)
    .map((batch) => batch.flatMap(({ event_id }) => events.get(event_id) ?? []))
  return batches.length === 0 || deliverBatches(gateway, target, channel, batches)
}

/** Requests to one destination at the same time: some kinds take one event in each. */
const parallelBatches = 8
/** Limits for the events of one destination in memory. */
const maxEvents = 500
const maxBytes = 4 * 1024 * 1024

/** Takes deliveries up to a limit of bytes: at least one, however large. */
function takeBytes(deliveries: Delivery[], limit: number): Delivery[] {
  let bytes = 0
  const end = deliveries.findIndex(({ size }, index) => {
    bytes += size
    return index > 0 && bytes > limit
  })
  return end === -1 ? deliveries : deliveries.slice(0, end)
}

function divide(deliveries: Delivery[], exporter: Channel['exporter']): Delivery[][] {
  const batches: Delivery[][] = []
  for (let at = 0; at < deliveries.length; ) {
    const batch = takeBytes(deliveries.slice(at, at + exporter.maxEvents), exporter.maxBytes)
    batches.push(batch)
    at += batch.length
  }
  return batches
}

/** The events that the destination still receives, with what it may receive of them, by id. */
async function openEvents(
  gateway: Gateway,
  deliveries: Delivery[],
  settings: ExportSettings,
): Promise<Map<string, GenerationEvent>> {
  const groups = compileRules(settings.filterRules)
  const rows = await readEvents(
    gateway.db,
    deliveries.map(({ event_id }) => event_id),
  )
  const rowsById = new Map(rows.map((row) => [row.id, row]))
  const events = new Map<string, GenerationEvent>()
  for (const { event_id, shared_parts } of deliveries) {
    const row = rowsById.get(event_id)
    if (!row) continue
    await yieldToEventLoop()
    const event = tryOpenEvent(gateway, row)
    // The stricter of the settings when the request ended and now.
    if (event && (await isWanted(settings, groups, event)))
      events.set(event_id, applySettings(event, settings.shared & shared_parts))
  }
  return events
}

/** Null for one that cannot be decrypted: it must not keep the others back. */
function tryOpenEvent(
  { vault, log }: Gateway,
  row: { id: string; sealed_event: string },
): GenerationEvent | null {
  try {
    return openEvent(vault, row)
  } catch (err) {
    subsystemLog(log, 'delivery').warn({ err, id: row.id }, 'an event could not be read and is dropped')
    return null
  }
}

async function isWanted(
  settings: ExportSettings,
  groups: readonly CompiledGroup[],
  event: GenerationEvent,
): Promise<boolean> {
  const { id, sampledId = id, region, sessionId, identity } = event
  const facts = { id: sampledId, region, sessionId, keyHash: identity?.apiKeyHash ?? '' }
  if (!isSelected(settings, facts)) return false
  return runInSlices(matchEvent(groups, event))
}

/** Drops events of a destination that was disabled or deleted while they waited. */
async function dropNext({ db, metrics }: Gateway, id: string, type: string): Promise<boolean> {
  const pending = await listPending(db, id, maxEvents)
  const dropped = await removeDeliveries(
    db,
    id,
    pending.map(({ event_id }) => event_id),
  )
  await countDropped(db, id, dropped)
  metrics.countDeliveries(type, 'dropped', dropped)
  return pending.length === maxEvents
}
