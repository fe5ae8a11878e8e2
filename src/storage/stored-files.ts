import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { FileTable } from '../platform/db/schema.ts'

export type StoredFile = Selectable<FileTable>

export async function findFile(db: Db, workspaceId: string, id: string): Promise<StoredFile | undefined> {
  return db
    .selectFrom('files')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export interface FileSelection {
  workspaceId: string
  /** The page starts after this position; null: at the start. */
  afterSeq: number | null
  limit: number
  order?: 'asc' | 'desc'
  purpose?: string | undefined
}

/** Lists files in upload order, or newest first. */
export async function listFiles(
  db: Db,
  { workspaceId, afterSeq, limit, order = 'asc', purpose }: FileSelection,
): Promise<StoredFile[]> {
  return db
    .selectFrom('files')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .$if(afterSeq !== null, (query) => query.where('seq', order === 'asc' ? '>' : '<', afterSeq ?? 0))
    .$if(purpose !== undefined, (query) => query.where('purpose', '=', purpose ?? ''))
    .orderBy('seq', order)
    .limit(limit)
    .execute()
}

/** Prepares the rows of restored files: all bytes are in one store now, and files without bytes are gone. */
export async function relocateFiles(
  db: Db,
  storage: StoredFile['storage'],
  missingIds: readonly string[],
): Promise<void> {
  await db.updateTable('files').set({ storage }).execute()
  for (const id of missingIds) await db.deleteFrom('files').where('id', '=', id).execute()
}

export const idPrefix = 'hg_file_'

/** Ids of vendors' files never begin like this. */
export function hasFileIdPrefix(text: string): boolean {
  return text.startsWith(idPrefix)
}

/** Recognizes the id of a file: nothing is stored under another form. */
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
