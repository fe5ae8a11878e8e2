import type { Selectable } from 'kysely'
import type { Db } from '../db/db.ts'
import type { FileTable } from '../db/schema.ts'

export type StoredFile = Selectable<FileTable>

export async function findFile(db: Db, workspaceId: string, id: string): Promise<StoredFile | undefined> {
  return db
    .selectFrom('files')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** In upload order, those after `afterSeq`. */
export async function listFiles(
  db: Db,
  where: { workspaceId: string; afterSeq: number; limit: number; purpose?: string | undefined },
): Promise<StoredFile[]> {
  const { purpose } = where
  return db
    .selectFrom('files')
    .selectAll()
    .where('workspace_id', '=', where.workspaceId)
    .where('seq', '>', where.afterSeq)
    .$if(purpose !== undefined, (query) => query.where('purpose', '=', purpose ?? ''))
    .orderBy('seq', 'asc')
    .limit(where.limit)
    .execute()
}

const idPrefix = 'hg_file_'

/** Ids of vendors' files never begin like this. */
export function hasFileIdPrefix(text: string): boolean {
  return text.startsWith(idPrefix)
}

/** Nothing is stored under another form of id. */
export function isFileId(text: string): boolean {
  return /^hg_file_[0-9a-f]{24}$/.test(text)
}

/** The id of a Gemini file name, `files/4f1c...`, whose names have no underscores. */
export function toFileId(name: string): string {
  return name.startsWith(idPrefix) ? name : idPrefix + name
}

export function toGeminiFileName(id: string): string {
  return id.startsWith(idPrefix) ? id.slice(idPrefix.length) : id
}
