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

const idPrefix = 'hg_file_'

/** The id of a Gemini file name, `files/4f1c...`, whose names have no underscores. */
export function toFileId(name: string): string {
  return name.startsWith(idPrefix) ? name : idPrefix + name
}

export function toGeminiFileName(id: string): string {
  return id.startsWith(idPrefix) ? id.slice(idPrefix.length) : id
}
