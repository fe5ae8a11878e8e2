import { lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../platform/errors/gateway-error.ts'
import { findFile, type StoredFile } from '../storage/stored-files.ts'
import { createHomeFile } from './home-file.ts'

/** Reads the bytes of a file of the workspace; null if they are missing. */
export type FileOpener = (file: StoredFile) => Promise<Blob | ReadableStream<Uint8Array> | null>

const suffixLength = 8

/** The files of the workspace that a request attaches to its container. */
export async function findAttachedFiles(
  db: Db,
  workspaceId: string,
  ids: readonly string[],
): Promise<StoredFile[]> {
  const files: StoredFile[] = []
  for (const [index, id] of [...new Set(ids)].entries()) {
    const file = await findFile(db, workspaceId, id)
    if (!file) throw invalidFieldError(`file_ids.${index}`, 'is not a file of this workspace')
    files.push(file)
  }
  return files
}

/** Unique in a home, also for files of the same name. */
export function toAttachedName({ id, filename }: Pick<StoredFile, 'id' | 'filename'>): string {
  return `${id.slice(-suffixLength)}-${filename.slice(filename.lastIndexOf('/') + 1)}`
}

/** Copies files into a home. A file that was copied before is not replaced: commands may have changed it. */
export async function copyAttachedFiles(
  home: string,
  files: readonly StoredFile[],
  { openFile, owner, freeBytes }: { openFile: FileOpener; owner: number | null; freeBytes: number },
): Promise<void> {
  const isMissing = await Promise.all(files.map((file) => isMissingAt(join(home, toAttachedName(file)))))
  const missing = files.filter((_, index) => isMissing[index])
  const total = missing.reduce((sum, { size_bytes }) => sum + size_bytes, 0)
  if (missing.length > 0 && total > freeBytes)
    throw gatewayError('storage_full', 'file_ids: the files do not fit into the home of the container.')
  for (const file of missing) await giveFile(home, file, openFile, owner)
}

async function isMissingAt(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) === null
}

/** A failure leaves no file: a partial one would not be replaced later. */
async function giveFile(
  home: string,
  file: StoredFile,
  openFile: FileOpener,
  owner: number | null,
): Promise<void> {
  const name = toAttachedName(file)
  const target = await createHomeFile(home, name, owner)
  if (target === null) return
  try {
    const bytes = await openFile(file)
    if (bytes === null) throw new Error(`the bytes of ${file.id} are missing`)
    for await (const chunk of bytes instanceof Blob ? bytes.stream() : bytes) await target.writeFile(chunk)
  } catch (error) {
    await rm(join(home, name), { force: true })
    throw error
  } finally {
    await target.close()
  }
}
