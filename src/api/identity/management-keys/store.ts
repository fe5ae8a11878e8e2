import type { Updateable } from 'kysely'
import type { ApiKey } from '../../../identity/keys.ts'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { ApiKeyTable } from '../../../platform/db/schema.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

/** Lists management keys, newest first. */
export async function listManagementKeys(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<RowPage<ApiKey>> {
  const all = db
    .selectFrom('api_keys')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('kind', '=', 'management')
  return fetchPage(all, page, ['id'], 'desc')
}

export async function findManagementKey(
  db: Db,
  organizationId: string,
  hash: string,
): Promise<ApiKey | undefined> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('kind', '=', 'management')
    .where('hash', '=', hash)
    .executeTakeFirst()
}

export type ManagementKeyChanges = Pick<
  Updateable<ApiKeyTable>,
  'name' | 'permissions' | 'workspace_ids' | 'expires_at' | 'disabled'
>

export async function updateManagementKey(
  tx: Db,
  clock: Clock,
  id: number,
  changes: ManagementKeyChanges,
): Promise<ApiKey> {
  return tx
    .updateTable('api_keys')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The given ids that are workspaces of the organization. */
export async function filterWorkspaceIds(
  db: Db,
  organizationId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .selectFrom('workspaces')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .where('deleted_at', 'is', null)
    .execute()
  return new Set(rows.map(({ id }) => id))
}
