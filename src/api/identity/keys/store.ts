import { type RawBuilder, sql } from 'kysely'
import { searchKeys } from '../../../identity/key-search.ts'
import type { ApiKey } from '../../../identity/keys.ts'
import type { Scope } from '../../../identity/permissions/grant.ts'
import type { Db } from '../../../platform/db/db.ts'

const keysPerPage = 100

/** The keys of a workspace, or of all; `creatorUserId`: only those of this member. */
export type VisibleKeys =
  | { workspaceId: string; creatorUserId: string | null }
  | { workspaceId: null; scope: Scope }

interface KeyFilter {
  organizationId: string
  visible: VisibleKeys
  includeDisabled: boolean
  creatorUserId: string | undefined
  offset: number
  /** Text to find in the name or label. */
  text: string | undefined
}

/** Lists keys, newest first, without management keys and the keys of sessions. */
export async function listKeys(db: Db, where: KeyFilter): Promise<ApiKey[]> {
  if (where.text !== undefined) return searchPage(db, where, where.text)
  let page = db
    .selectFrom('api_keys')
    .select('id')
    .where('kind', '=', 'inference')
    .where('source', '!=', 'session')
  if (where.visible.workspaceId === null) page = page.where('organization_id', '=', where.organizationId)
  for (const condition of listConditions(where)) page = page.where(condition)
  // The page is cut in the index, so that the rows before it are counted and not read.
  const ids = page.orderBy('id', 'desc').limit(keysPerPage).offset(where.offset)
  return db.selectFrom('api_keys').selectAll().where('id', 'in', ids).orderBy('id', 'desc').execute()
}

async function searchPage(db: Db, where: KeyFilter, text: string): Promise<ApiKey[]> {
  const { organizationId, offset } = where
  const conditions = listConditions(where)
  const filter =
    conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`${sql.join(conditions, sql` and `)}`
  const { keys } = await searchKeys(db, { organizationId, text, filter, offset, limit: keysPerPage })
  return keys
}

function listConditions({ visible, includeDisabled, creatorUserId }: KeyFilter): RawBuilder<boolean>[] {
  return [
    ...conditionsOf(visible),
    ...(includeDisabled ? [] : [sql<boolean>`disabled = 0`]),
    ...(creatorUserId === undefined ? [] : [sql<boolean>`creator_user_id = ${creatorUserId}`]),
  ]
}

function conditionsOf(visible: VisibleKeys): RawBuilder<boolean>[] {
  if (visible.workspaceId !== null) {
    const { workspaceId, creatorUserId } = visible
    const inWorkspace = sql<boolean>`workspace_id = ${workspaceId}`
    return creatorUserId === null ? [inWorkspace] : [inWorkspace, sql`creator_user_id = ${creatorUserId}`]
  }
  const { everywhere, workspaceIds, own } = visible.scope
  if (everywhere) return []
  const inAny = (ids: ReadonlySet<string>) =>
    ids.size === 0 ? sql<boolean>`false` : sql<boolean>`workspace_id in (${sql.join([...ids])})`
  if (!own) return [inAny(workspaceIds)]
  const isOwn = sql`creator_user_id = ${own.userId} and ${inAny(own.workspaceIds)}`
  return [sql<boolean>`(${inAny(workspaceIds)} or (${isOwn}))`]
}

export async function isWorkspaceDeleted(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('workspaces').select('deleted_at').where('id', '=', id).executeTakeFirst()
  return row?.deleted_at !== null
}
