import type { Gateway } from '../gateway/gateway.ts'
import type { RunResult } from '../platform/concurrency/repeated-task.ts'
import { countDropped } from './destination-states.ts'
import {
  type Delivery,
  listOldest,
  listQueues,
  measureQueue,
  removeDeliveries,
  sweepEvents,
} from './store.ts'

const hourMs = 3_600_000
/** Deliveries per transaction. */
const batchSize = 500

interface QueueLimits {
  events: number
  bytes: number
  /** Older events are dropped. */
  since: string
}

/** Drops what exceeds the bounds of each queue, the oldest first, and measures the queues. */
export async function trimQueues(gateway: Gateway): Promise<RunResult> {
  const { db, clock, settings, metrics } = gateway
  const { queue_events, queue_bytes, queue_hours, failed_events } = settings.observability
  const since = new Date(clock.now() - queue_hours * hourMs).toISOString()
  const queues = new Map<string, { depth: number; oldestSeconds: number }>()
  for (const { id, type, deleted_at } of await listQueues(db)) {
    await trim(gateway, id, type, 'pending', { events: queue_events, bytes: queue_bytes, since })
    // Those of a deleted one cannot be sent again.
    const events = deleted_at === null ? failed_events : 0
    await trim(gateway, id, type, 'failed', { events, bytes: queue_bytes, since })
    const { count, since: oldest } = await measureQueue(db, id, 'pending')
    const age = oldest === null ? 0 : Math.max(0, (clock.now() - Date.parse(oldest)) / 1000)
    const { depth = 0, oldestSeconds = 0 } = queues.get(type) ?? {}
    queues.set(type, { depth: depth + count, oldestSeconds: Math.max(oldestSeconds, age) })
  }
  metrics.setDeliveryQueues(queues)
  return queues.size > 0 ? 'busy' : 'idle'
}

async function trim(
  { db, metrics }: Gateway,
  id: string,
  type: string,
  state: Delivery['state'],
  limits: QueueLimits,
): Promise<void> {
  for (;;) {
    const size = await measureQueue(db, id, state)
    const oldest = await listOldest(db, id, state, batchSize)
    const surplus: string[] = []
    let { count, bytes } = size
    for (const { event_id, created_at, size: eventBytes } of oldest) {
      if (count <= limits.events && bytes <= limits.bytes && created_at >= limits.since) break
      surplus.push(event_id)
      count--
      bytes -= eventBytes
    }
    const dropped = await removeDeliveries(db, id, surplus)
    await countDropped(db, id, dropped)
    metrics.countDeliveries(type, 'dropped', dropped)
    if (surplus.length < batchSize) return
  }
}

/** Age of an abandoned event: longer than two destinations need to finish with the same one. */
const abandonedAfterMs = 600_000

/** Deletes events that no destination waits for. */
export async function sweepOutbox({ db, clock }: Gateway): Promise<void> {
  await sweepEvents(db, new Date(clock.now() - abandonedAfterMs).toISOString())
}
