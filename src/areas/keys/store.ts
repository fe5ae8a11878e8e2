import { sql } from 'kysely'
import { searchKeys } from '../../account/key-search.ts'
import type { ApiKey } from '../../account/keys.ts'
import type { Db } from '../../db/db.ts'
import type { ApiKeyTable } from '../../db/schema.ts'
import { type Clock, isoNow } from '../../lib/clock.ts'

const keysPerPage = 100

interface KeyFilter {
  organizationId: string
  workspaceId: string
  /** Null for the keys of all members. */
  creatorUserId: string | null
  includeDisabled: boolean
  offset: number
  /** In their name or label. */
  text: string | undefined
}

/** Newest first, without management keys and the keys of sessions. */
export async function listKeys(db: Db, where: KeyFilter): Promise<ApiKey[]> {
  if (where.text !== undefined) return searchPage(db, where, where.text)
  let page = db
    .selectFrom('api_keys')
    .select('id')
    .where('workspace_id', '=', where.workspaceId)
    .where('kind', '=', 'inference')
    .where('source', '!=', 'session')
  if (where.creatorUserId !== null) page = page.where('creator_user_id', '=', where.creatorUserId)
  if (!where.includeDisabled) page = page.where('disabled', '=', 0)
  // The page is cut in the index, so that the rows before it are counted and not read.
  const ids = page.orderBy('id', 'desc').limit(keysPerPage).offset(where.offset)
  return db.selectFrom('api_keys').selectAll().where('id', 'in', ids).orderBy('id', 'desc').execute()
}

async function searchPage(db: Db, where: KeyFilter, text: string): Promise<ApiKey[]> {
  const { organizationId, workspaceId, creatorUserId, includeDisabled, offset } = where
  const conditions = [
    sql<boolean>`workspace_id = ${workspaceId}`,
    ...(creatorUserId === null ? [] : [sql<boolean>`creator_user_id = ${creatorUserId}`]),
    ...(includeDisabled ? [] : [sql<boolean>`disabled = 0`]),
  ]
  const filter = sql<boolean>`${sql.join(conditions, sql` and `)}`
  const { keys } = await searchKeys(db, { organizationId, text, filter, offset, limit: keysPerPage })
  return keys
}

export type KeyChanges = Partial<
  Pick<ApiKeyTable, 'name' | 'disabled' | 'limit_nanos' | 'limit_reset' | 'include_byok_in_limit'>
>

/** As `tryLockWorkspace`: undefined once it is deleted. */
export async function lockKey(tx: Db, organizationId: string, hash: string): Promise<ApiKey | undefined> {
  return tx
    .updateTable('api_keys')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('organization_id', '=', organizationId)
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst()
}

export async function updateKey(db: Db, clock: Clock, id: number, changes: KeyChanges): Promise<ApiKey> {
  return db
    .updateTable('api_keys')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function isWorkspaceDeleted(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('workspaces').select('deleted_at').where('id', '=', id).executeTakeFirst()
  return row?.deleted_at !== null
}
