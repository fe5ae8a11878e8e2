import { type Selectable, sql, type Updateable } from 'kysely'
import type { Db } from '../db/db.ts'
import { fetchPage, type RowPage } from '../db/page.ts'
import type { DestinationStateTable, DestinationTable, OutboxDeliveryTable } from '../db/schema.ts'
import type { Pagination } from '../lib/query-params.ts'

export type DestinationState = Selectable<DestinationStateTable>
export type Delivery = Selectable<OutboxDeliveryTable>

/** A destination with what its delivery depends on. */
export interface DeliveryTarget {
  row: Selectable<DestinationTable>
  isBroadcasting: boolean
  state: DestinationState
}

export const newState: Omit<DestinationState, 'destination_id'> = {
  lease_owner: null,
  lease_until: null,
  served_at: null,
  failures: 0,
  retry_at: null,
  last_success_at: null,
  last_error_at: null,
  sealed_error: null,
  paused: 0,
  disabled_reason: null,
  delivered: 0,
  dropped: 0,
}

export interface Lease {
  owner: string
  now: string
  until: string
}

/** Destinations with events to send that no node works on, those that have waited longest first. */
export async function listDueDestinations(db: Db, now: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('destinations')
    .leftJoin('destination_states as state', 'state.destination_id', 'destinations.id')
    .select('destinations.id')
    .where((eb) => eb.or([eb('state.lease_until', 'is', null), eb('state.lease_until', '<', now)]))
    .where((eb) => eb.or([eb('state.retry_at', 'is', null), eb('state.retry_at', '<=', now)]))
    // The events of a disabled one are dropped, paused or not.
    .where((eb) =>
      eb.or([eb('state.paused', 'is', null), eb('state.paused', '=', 0), eb('destinations.enabled', '=', 0)]),
    )
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('outbox_deliveries')
          .select('event_id')
          .whereRef('outbox_deliveries.destination_id', '=', 'destinations.id')
          .where('outbox_deliveries.state', '=', 'pending'),
      ),
    )
    .orderBy(sql`coalesce(state.served_at, '')`)
    .orderBy('destinations.id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** False if another node was faster: the update applies only while no node has the lease, by the clock they share. */
export async function takeLease(db: Db, id: string, { owner, now, until }: Lease): Promise<boolean> {
  const take = async () => {
    const { numUpdatedRows } = await db
      .updateTable('destination_states')
      .set({ lease_owner: owner, lease_until: until, served_at: now })
      .where('destination_id', '=', id)
      .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }
  if (await take()) return true
  await ensureState(db, id)
  return take()
}

async function ensureState(db: Db, id: string): Promise<void> {
  await db
    .insertInto('destination_states')
    .values({ destination_id: id, ...newState })
    .onConflict((conflict) => conflict.column('destination_id').doNothing())
    .execute()
}

/** Without effect if another node has taken the lease. */
export async function updateHeldState(
  db: Db,
  id: string,
  owner: string,
  changes: Updateable<DestinationStateTable>,
): Promise<void> {
  await db
    .updateTable('destination_states')
    .set(changes)
    .where('destination_id', '=', id)
    .where('lease_owner', '=', owner)
    .execute()
}

/** For a process that has just started, where no other can be running. */
export async function releaseDeliveryLeases(db: Db): Promise<void> {
  await db
    .updateTable('destination_states')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', 'is not', null)
    .execute()
}

/** For changes that users make. */
export async function updateState(
  db: Db,
  id: string,
  changes: Updateable<DestinationStateTable>,
): Promise<void> {
  await ensureState(db, id)
  await db.updateTable('destination_states').set(changes).where('destination_id', '=', id).execute()
}

/** After a change of a destination: what failed before may succeed now. */
export async function retryAtOnce(db: Db, id: string, isEnabled: boolean): Promise<void> {
  await db
    .updateTable('destination_states')
    .set({ retry_at: null, ...(isEnabled && { disabled_reason: null, failures: 0 }) })
    .where('destination_id', '=', id)
    .execute()
}

export async function countDropped(db: Db, id: string, count: number): Promise<void> {
  if (count === 0) return
  await ensureState(db, id)
  await db
    .updateTable('destination_states')
    .set((eb) => ({ dropped: eb('dropped', '+', count) }))
    .where('destination_id', '=', id)
    .execute()
}

/** Deleted destinations included: their events are dropped. */
export async function findTarget(db: Db, id: string): Promise<DeliveryTarget | undefined> {
  const row = await db.selectFrom('destinations').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) return undefined
  const workspace = await db
    .selectFrom('workspaces')
    .select('broadcast_enabled')
    .where('id', '=', row.workspace_id)
    .executeTakeFirst()
  const state = await db
    .selectFrom('destination_states')
    .selectAll()
    .where('destination_id', '=', id)
    .executeTakeFirst()
  return {
    row,
    isBroadcasting: workspace?.broadcast_enabled === 1,
    state: state ?? { destination_id: id, ...newState },
  }
}

/** What a destination responded with 410 to. Its secrets stay. */
export async function disableDestination(db: Db, id: string, now: string): Promise<void> {
  await db
    .updateTable('destinations')
    .set({ enabled: 0, updated_at: now })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .execute()
}

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

/** Not in the transaction of the deliveries: two destinations could wait for each other. What is left is swept. */
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

async function deleteUnreferenced(db: Db, eventIds: string[]): Promise<void> {
  await db
    .deleteFrom('outbox_events')
    .where('id', 'in', eventIds)
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

/** Two destinations that finish with an event at the same moment may both leave it behind. */
export async function sweepEvents(db: Db, before: string, limit: number): Promise<number> {
  const rows = await db
    .selectFrom('outbox_events')
    .select('id')
    .where('created_at', '<', before)
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
    .limit(limit)
    .execute()
  if (rows.length > 0)
    await deleteUnreferenced(
      db,
      rows.map(({ id }) => id),
    )
  return rows.length
}

/** The destination rejected the event itself. */
export async function markFailed(db: Db, id: string, eventId: string, sealedError: string): Promise<void> {
  await db
    .updateTable('outbox_deliveries')
    .set((eb) => ({ state: 'failed', attempts: eb('attempts', '+', 1), sealed_error: sealedError }))
    .where('destination_id', '=', id)
    .where('event_id', '=', eventId)
    .execute()
}

/** They were sent, and have to be sent again. */
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
  /** Of the oldest event. */
  since: string | null
}

export async function measureQueue(db: Db, id: string, state: Delivery['state']): Promise<QueueSize> {
  const { count, bytes, since } = await db
    .selectFrom('outbox_deliveries')
    .select(({ fn }) => [
      fn.countAll<number | string>().as('count'),
      fn.sum<number | string | null>('size').as('bytes'),
      fn.min<string | null>('created_at').as('since'),
    ])
    .where('destination_id', '=', id)
    .where('state', '=', state)
    .executeTakeFirstOrThrow()
  return { count: Number(count), bytes: Number(bytes ?? 0), since }
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
export async function listQueues(db: Db): Promise<{ id: string; type: string }[]> {
  return db
    .selectFrom('destinations')
    .select(['id', 'type'])
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
