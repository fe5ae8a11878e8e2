import { join } from 'node:path'
import type { Gateway } from '../../../gateway/gateway.ts'
import { newId } from '../../../platform/crypto/ids.ts'
import { resolveFilesFolder } from '../../../storage/file-storage.ts'

export function newFileId(): string {
  return newId('hg_file')
}

/** Holds the bytes of an upload until it is complete: on the local disk, whatever store they go to. */
export function resolvePartialPath(gateway: Gateway, id: string): string {
  return join(resolveFilesFolder(gateway), `${id}${partialSuffix}`)
}

export const partialSuffix = '.part'

/** Holds the bytes of uploads in several requests: one folder per workspace. */
export function resolveSessionPath(gateway: Gateway, workspaceId: string, id: string): string {
  return join(resolveUploadsFolder(gateway), workspaceId, id)
}

export function resolveUploadsFolder(gateway: Gateway): string {
  return join(gateway.config.dataDir, 'uploads')
}
