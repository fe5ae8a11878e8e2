import type { Insertable, Updateable } from 'kysely'
import type { Db } from '../../db/db.ts'
import { fetchPage, type RowPage } from '../../db/page.ts'
import type { DestinationTable } from '../../db/schema.ts'
import { type Clock, isoNow } from '../../lib/clock.ts'
import type { Pagination } from '../../lib/query-params.ts'
import type { DestinationRow } from './record.ts'

/** Oldest first. */
export async function listDestinations(
  db: Db,
  workspaceId: string,
  page: Pagination,
): Promise<RowPage<DestinationRow>> {
  const all = db
    .selectFrom('destinations')
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
  return fetchPage(all.selectAll(), page)
}

export async function countDestinations(db: Db, workspaceId: string, type: string): Promise<number> {
  const { count } = await db
    .selectFrom('destinations')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('type', '=', type)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

export async function insertDestination(
  db: Db,
  clock: Clock,
  row: Omit<Insertable<DestinationTable>, 'created_at' | 'updated_at' | 'deleted_at'>,
): Promise<DestinationRow> {
  const now = isoNow(clock)
  return db
    .insertInto('destinations')
    .values({ ...row, created_at: now, updated_at: now, deleted_at: null })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findDestination(
  db: Db,
  organizationId: string,
  id: string,
): Promise<DestinationRow | undefined> {
  return db
    .selectFrom('destinations')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** As `tryLockWorkspace`: a no-op update serializes changes to one record. */
export async function lockDestination(
  tx: Db,
  organizationId: string,
  id: string,
): Promise<DestinationRow | undefined> {
  return tx
    .updateTable('destinations')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

export async function updateDestination(
  tx: Db,
  clock: Clock,
  id: string,
  changes: Updateable<DestinationTable>,
): Promise<DestinationRow> {
  return tx
    .updateTable('destinations')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Keeps the row, because past records refer to it, and wipes its secrets. */
export async function removeDestination(
  db: Db,
  clock: Clock,
  organizationId: string,
  id: string,
): Promise<boolean> {
  const now = isoNow(clock)
  const result = await db
    .updateTable('destinations')
    .set({ deleted_at: now, updated_at: now, enabled: 0, sealed_secrets: '', secrets_origin: null })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}
