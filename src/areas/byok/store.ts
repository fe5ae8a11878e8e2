import type { Insertable, Updateable } from 'kysely'
import type { Db } from '../../db/db.ts'
import { fetchPage, type RowPage } from '../../db/page.ts'
import type { ByokKeyTable } from '../../db/schema.ts'
import { type Clock, isoNow } from '../../lib/clock.ts'
import { fullMask } from '../../lib/mask.ts'
import type { Pagination } from '../../lib/query-params.ts'
import type { ByokRow } from './record.ts'

/** By provider, in the order they are tried. */
export async function listCredentials(
  db: Db,
  where: { workspaceId: string; provider: string | undefined },
  page: Pagination,
): Promise<RowPage<ByokRow>> {
  let all = db
    .selectFrom('byok_keys')
    .where('workspace_id', '=', where.workspaceId)
    .where('deleted_at', 'is', null)
  if (where.provider !== undefined) all = all.where('provider', '=', where.provider)
  return fetchPage(all.selectAll(), page, ['provider', 'sort_order', 'id'])
}

/** The number of credentials and the next sort order. The caller has locked the workspace. */
export async function findNextSortOrder(
  tx: Db,
  workspaceId: string,
  provider: string,
): Promise<{ count: number; sortOrder: number }> {
  const { last, count } = await tx
    .selectFrom('byok_keys')
    .select((eb) => [eb.fn.max('sort_order').as('last'), eb.fn.countAll().as('count')])
    .where('workspace_id', '=', workspaceId)
    .where('provider', '=', provider)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return { count: Number(count), sortOrder: last === null ? 0 : last + 1 }
}

export async function insertCredential(
  tx: Db,
  clock: Clock,
  row: Omit<Insertable<ByokKeyTable>, 'created_at' | 'updated_at' | 'deleted_at'>,
): Promise<ByokRow> {
  const now = isoNow(clock)
  return tx
    .insertInto('byok_keys')
    .values({ ...row, created_at: now, updated_at: now, deleted_at: null })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findCredential(
  db: Db,
  organizationId: string,
  id: string,
): Promise<ByokRow | undefined> {
  return db
    .selectFrom('byok_keys')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** As `tryLockWorkspace`: a no-op update serializes changes to one record. */
export async function lockCredential(
  tx: Db,
  organizationId: string,
  id: string,
): Promise<ByokRow | undefined> {
  return tx
    .updateTable('byok_keys')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

export async function updateCredential(
  tx: Db,
  clock: Clock,
  id: string,
  changes: Updateable<ByokKeyTable>,
): Promise<ByokRow> {
  return tx
    .updateTable('byok_keys')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Keeps the row, because past records refer to it, and wipes the credential. */
export async function removeCredential(
  db: Db,
  clock: Clock,
  organizationId: string,
  id: string,
): Promise<boolean> {
  const now = isoNow(clock)
  const result = await db
    .updateTable('byok_keys')
    .set({ deleted_at: now, updated_at: now, disabled: 1, sealed_key: null, label: fullMask })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}
