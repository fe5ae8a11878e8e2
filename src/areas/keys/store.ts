import type { ApiKey } from '../../account/keys.ts'
import type { Db } from '../../db/db.ts'
import type { ApiKeyTable } from '../../db/schema.ts'
import { type Clock, isoNow } from '../../lib/clock.ts'

const keysPerPage = 100

/** Newest first. Management keys are not listed: they are created and revoked with the command line. */
export async function listKeys(
  db: Db,
  where: { workspaceId: string; includeDisabled: boolean; offset: number },
): Promise<ApiKey[]> {
  let page = db
    .selectFrom('api_keys')
    .select('id')
    .where('workspace_id', '=', where.workspaceId)
    .where('kind', '=', 'inference')
  if (!where.includeDisabled) page = page.where('disabled', '=', 0)
  // The page is cut in the index, so that the rows before it are counted and not read.
  const ids = page.orderBy('id', 'desc').limit(keysPerPage).offset(where.offset)
  return db.selectFrom('api_keys').selectAll().where('id', 'in', ids).orderBy('id', 'desc').execute()
}

type KeyChanges = Partial<
  Pick<ApiKeyTable, 'name' | 'disabled' | 'limit_nanos' | 'limit_reset' | 'include_byok_in_limit'>
>

export async function updateKey(
  db: Db,
  clock: Clock,
  id: number,
  changes: KeyChanges,
): Promise<ApiKey | undefined> {
  return db
    .updateTable('api_keys')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export async function isWorkspaceDeleted(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('workspaces').select('deleted_at').where('id', '=', id).executeTakeFirst()
  return row?.deleted_at !== null
}
