import { type Selectable, sql, type Updateable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { DestinationStateTable, DestinationTable } from '../platform/db/schema.ts'

export type DestinationState = Selectable<DestinationStateTable>

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
export async function listDueDestinations(
  db: Db,
  now: string,
  { isFailing, limit }: { isFailing: boolean; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('destinations')
    .leftJoin('destination_states as state', 'state.destination_id', 'destinations.id')
    .select('destinations.id')
    .where(({ eb, fn, val }) => eb(fn.coalesce('state.failures', val(0)), isFailing ? '>' : '=', 0))
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

/** Whether any destination has events to send, due or not. */
export async function hasPendingDeliveries(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('destinations')
    .select('id')
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('outbox_deliveries')
          .select('event_id')
          .whereRef('outbox_deliveries.destination_id', '=', 'destinations.id')
          .where('outbox_deliveries.state', '=', 'pending'),
      ),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
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

/** Updates a leased state; has no effect if another node has taken the lease. */
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

/** Releases all leases, for a process that has just started and is the only one. */
export async function releaseDeliveryLeases(db: Db): Promise<void> {
  await db
    .updateTable('destination_states')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', 'is not', null)
    .execute()
}

/** Stores changes that users make. */
export async function updateState(
  db: Db,
  id: string,
  changes: Updateable<DestinationStateTable>,
): Promise<void> {
  await ensureState(db, id)
  await db.updateTable('destination_states').set(changes).where('destination_id', '=', id).execute()
}

/** Retries after a change of a destination: requests that failed before may succeed now. */
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

/**
 * Disables a destination that responded with 410. Its secrets stay. Returns false if it was changed meanwhile: perhaps
 * to another address, of which the response says nothing.
 */
export async function disableDestination(
  db: Db,
  { id, updated_at }: DeliveryTarget['row'],
  now: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('destinations')
    .set({ enabled: 0, updated_at: now })
    .where('id', '=', id)
    .where('updated_at', '=', updated_at)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
