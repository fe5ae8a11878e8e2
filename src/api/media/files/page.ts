import type { Gateway } from '../../../gateway/gateway.ts'
import type { Workspace } from '../../../identity/workspaces.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { type FileSelection, listFiles, type StoredFile } from '../../../storage/stored-files.ts'

export interface FilePage {
  files: StoredFile[]
  hasMore: boolean
  /** The cursor of the next page; null on the last one. */
  cursor: string | null
}

export async function readPage(
  { db, vault }: Gateway,
  workspace: Workspace,
  { limit, ...where }: Omit<FileSelection, 'workspaceId'>,
): Promise<FilePage> {
  const rows = await listFiles(db, { ...where, workspaceId: workspace.id, limit: limit + 1 })
  const files = rows.slice(0, limit)
  const hasMore = rows.length > files.length
  const last = files.at(-1)
  // Encrypted, because the sequence number would reveal how many files all tenants have.
  const cursor = hasMore && last ? vault.encrypt(String(last.seq), cursorContextOf(workspace)) : null
  return { files, hasMore, cursor }
}

/** The position in upload order that a cursor stands for. */
export function decodeCursor(
  { vault }: Gateway,
  workspace: Workspace,
  { field, token }: { field: string; token: string },
): number {
  try {
    return Number(vault.decrypt(token, cursorContextOf(workspace)))
  } catch {
    throw invalidFieldError(field, 'is not a cursor of this list')
  }
}

function cursorContextOf(workspace: Workspace): string {
  return `files/cursor/${workspace.id}`
}
