import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'

/** The owner of entries: those of others are never read, whatever their scope. */
export interface EntryOwner {
  organizationId: string
  workspaceId: string
}

export interface NewEntry extends EntryOwner {
  id: string
  scope: string
  createdAt: string
  expiresAt: string
  vector: Uint8Array
  reply: string
}

export interface StoredEntry {
  id: string
  created_at: string
}

/** A page of the entries of a scope that have not expired, the newest first. */
export function listEntries(
  db: Db,
  { organizationId, workspaceId, scope }: EntryOwner & { scope: string },
  { after, limit, now }: { after: StoredEntry | undefined; limit: number; now: string },
): Promise<StoredEntry[]> {
  return db
    .selectFrom('semantic_cache_entries')
    .select(['id', 'created_at'])
    .where('scope', '=', scope)
    .where('organization_id', '=', organizationId)
    .where('workspace_id', '=', workspaceId)
    .where('expires_at', '>', now)
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(created_at, id) < (${after?.created_at}, ${after?.id})`),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** The vectors of entries that were listed before. */
export function listVectors(db: Db, ids: readonly string[]) {
  return db.selectFrom('semantic_cache_entries').select(['id', 'vector']).where('id', 'in', ids).execute()
}

export function findReply(db: Db, { organizationId, workspaceId }: EntryOwner, id: string) {
  return db
    .selectFrom('semantic_cache_entries')
    .select(['reply', 'created_at', 'expires_at'])
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

export async function deleteEntries(db: Db, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await db.deleteFrom('semantic_cache_entries').where('id', 'in', ids).execute()
}

/** Adds an entry, and deletes the oldest of its scope and of its workspace beyond the maximums. */
export async function insertEntry(
  db: Db,
  { organizationId, workspaceId, createdAt, expiresAt, ...entry }: NewEntry,
  { scopeEntries, workspaceEntries }: { scopeEntries: number; workspaceEntries: number },
): Promise<void> {
  await db
    .insertInto('semantic_cache_entries')
    .values({
      ...entry,
      organization_id: organizationId,
      workspace_id: workspaceId,
      created_at: createdAt,
      expires_at: expiresAt,
    })
    .execute()
  await deleteBeyond(db, 'scope', entry.scope, scopeEntries)
  await deleteBeyond(db, 'workspace_id', workspaceId, workspaceEntries)
}

/** Usually one, which has made place for a new one. */
const maxDeleted = 500

async function deleteBeyond(
  db: Db,
  column: 'scope' | 'workspace_id',
  value: string,
  max: number,
): Promise<void> {
  const rows = await db
    .selectFrom('semantic_cache_entries')
    .select('id')
    .where(column, '=', value)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(maxDeleted)
    .offset(max)
    .execute()
  await deleteEntries(
    db,
    rows.map(({ id }) => id),
  )
}

/** Deletes what has expired, a part at a time. */
export async function deleteExpiredEntries(db: Db, now: string): Promise<void> {
  for (;;) {
    const rows = await db
      .selectFrom('semantic_cache_entries')
      .select('id')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(maxDeleted)
      .execute()
    await deleteEntries(
      db,
      rows.map(({ id }) => id),
    )
    if (rows.length < maxDeleted) return
  }
}
