import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import { fetchPage, type RowPage } from '../platform/db/page.ts'
import type { OutboxDeliveryTable } from '../platform/db/schema.ts'
import { yieldToEventLoop } from '../platform/time/time-slicer.ts'
import type { Pagination } from '../platform/validation/query-params.ts'

export type Delivery = Selectable<OutboxDeliveryTable>

/** The oldest events of a destination. */
export async function listPending(db: Db, id: string, limit: number): Promise<Delivery[]> {
  return db
    .selectFrom('outbox_deliveries')
    .selectAll()
    .where('destination_id', '=', id)
    .where('state', '=', 'pending')
    .orderBy('created_at')
    .orderBy('event_id')
    .limit(limit)
    .execute()
}

export async function readEvents(db: Db, ids: string[]): Promise<{ id: string; sealed_event: string }[]> {
  return db.selectFrom('outbox_events').select(['id', 'sealed_event']).where('id', 'in', ids).execute()
}

/** Removes deliveries, and the events that no other destination waits for. Returns how many there were. */
export async function removeDeliveries(db: Db, id: string, eventIds: string[]): Promise<number> {
  if (eventIds.length === 0) return 0
  const removed = await deleteDeliveries(db, id, eventIds)
  await discardEvents(db, eventIds)
  return removed
}

async function deleteDeliveries(db: Db, id: string, eventIds: string[]): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('outbox_deliveries')
    .where('destination_id', '=', id)
    .where('event_id', 'in', eventIds)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/**
 * Deletes events outside the transaction of the deliveries: two destinations could wait for each other. The rest is
 * swept.
 */
async function discardEvents(db: Db, eventIds: string[]): Promise<void> {
  await deleteUnreferenced(db, eventIds).catch(() => undefined)
}

/** The destination has the events. Returns how many there were. */
export async function acknowledge(db: Db, id: string, eventIds: string[], now: string): Promise<number> {
  const delivered = await db.transaction().execute(async (tx) => {
    const count = await deleteDeliveries(tx, id, eventIds)
    await tx
      .updateTable('destination_states')
      .set((eb) => ({
        delivered: eb('delivered', '+', count),
        failures: 0,
        retry_at: null,
        last_success_at: now,
      }))
      .where('destination_id', '=', id)
      .execute()
    return count
  })
  await discardEvents(db, eventIds)
  return delivered
}

async function deleteUnreferenced(db: Db, eventIds: string[], before?: string): Promise<void> {
  await db
    .deleteFrom('outbox_events')
    .where('id', 'in', eventIds)
    .$if(before !== undefined, (query) => query.where('created_at', '<', before ?? ''))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('outbox_deliveries')
            .select('event_id')
            .whereRef('outbox_deliveries.event_id', '=', 'outbox_events.id'),
        ),
      ),
    )
    .execute()
}

/** Rows that are examined between two turns of the event loop. */
const pageSize = 1000

/**
 * Deletes events of before that time that no destination waits for: two that finish with an event at the same moment
 * may both leave it behind.
 */
export async function sweepEvents(db: Db, before: string): Promise<void> {
  for (let after = ''; ; await yieldToEventLoop()) {
    const rows = await db
      .selectFrom('outbox_events')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(pageSize)
      .execute()
    const ids = rows.map(({ id }) => id)
    const last = ids.at(-1)
    if (last === undefined) return
    const awaited = await listAwaited(db, ids)
    const abandoned = ids.filter((id) => !awaited.has(id))
    if (abandoned.length > 0) await deleteUnreferenced(db, abandoned, before)
    after = last
  }
}

async function listAwaited(db: Db, eventIds: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('outbox_deliveries')
    .select('event_id')
    .where('event_id', 'in', eventIds)
    .execute()
  return new Set(rows.map(({ event_id }) => event_id))
}

/** The destination rejected the event itself. */
export async function markFailed(db: Db, id: string, eventId: string, encryptedError: string): Promise<void> {
  await db
    .updateTable('outbox_deliveries')
    .set((eb) => ({ state: 'failed', attempts: eb('attempts', '+', 1), sealed_error: encryptedError }))
    .where('destination_id', '=', id)
    .where('event_id', '=', eventId)
    .execute()
}

/** Counts an attempt of events that were sent, and have to be sent again. */
export async function countAttempts(db: Db, id: string, eventIds: string[]): Promise<void> {
  await db
    .updateTable('outbox_deliveries')
    .set((eb) => ({ attempts: eb('attempts', '+', 1) }))
    .where('destination_id', '=', id)
    .where('event_id', 'in', eventIds)
    .execute()
}

/** Events that were rejected are sent again. Undefined: all of them. Returns how many there were. */
export async function requeueFailed(db: Db, id: string, eventIds: string[] | undefined): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('outbox_deliveries')
    .set({ state: 'pending' })
    .where('destination_id', '=', id)
    .where('state', '=', 'failed')
    .$if(eventIds !== undefined, (query) => query.where('event_id', 'in', eventIds ?? []))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

export function listFailed(db: Db, id: string, page: Pagination): Promise<RowPage<Delivery>> {
  const failed = db
    .selectFrom('outbox_deliveries')
    .selectAll()
    .where('destination_id', '=', id)
    .where('state', '=', 'failed')
  return fetchPage(failed, page, ['created_at', 'event_id'])
}

export interface QueueSize {
  count: number
  bytes: number
  /** Time of the oldest event. */
  since: string | null
}

/** Measures a queue in pages: a long one must not block the event loop. */
export async function measureQueue(db: Db, id: string, state: Delivery['state']): Promise<QueueSize> {
  const total: QueueSize = { count: 0, bytes: 0, since: null }
  for (let after: string | null = ''; after !== null; await yieldToEventLoop()) {
    const parts = await measurePage(db, id, after)
    const part = parts.find((candidate) => candidate.state === state)
    if (part) {
      total.count += Number(part.count)
      total.bytes += Number(part.bytes)
      if (total.since === null || part.since < total.since) total.since = part.since
    }
    const pageCount = parts.reduce((sum, { count }) => sum + Number(count), 0)
    after =
      pageCount < measuredRows
        ? null
        : parts.reduce((last, part) => (part.last > last ? part.last : last), after)
  }
  return total
}

/** Takes about two milliseconds. */
const measuredRows = 5000

/** Measures a page by state. */
function measurePage(db: Db, id: string, after: string) {
  const page = db
    .selectFrom('outbox_deliveries')
    .select(['event_id', 'state', 'size', 'created_at'])
    .where('destination_id', '=', id)
    .where('event_id', '>', after)
    .orderBy('event_id')
    .limit(measuredRows)
  return db
    .selectFrom(page.as('page'))
    .select(({ fn }) => [
      'state',
      fn.countAll<number | string>().as('count'),
      fn.sum<number | string>('size').as('bytes'),
      fn.min<string>('created_at').as('since'),
      fn.max<string>('event_id').as('last'),
    ])
    .groupBy('state')
    .execute()
}

/** The next of the oldest events, in either state. */
export async function listOldest(
  db: Db,
  id: string,
  state: Delivery['state'],
  limit: number,
): Promise<{ event_id: string; created_at: string; size: number }[]> {
  return db
    .selectFrom('outbox_deliveries')
    .select(['event_id', 'created_at', 'size'])
    .where('destination_id', '=', id)
    .where('state', '=', state)
    .orderBy('created_at')
    .orderBy('event_id')
    .limit(limit)
    .execute()
}

/** Every destination that events wait for. */
export async function listQueues(db: Db): Promise<{ id: string; type: string; deleted_at: string | null }[]> {
  return db
    .selectFrom('destinations')
    .select(['id', 'type', 'deleted_at'])
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('outbox_deliveries')
          .select('event_id')
          .whereRef('outbox_deliveries.destination_id', '=', 'destinations.id'),
      ),
    )
    .execute()
}
