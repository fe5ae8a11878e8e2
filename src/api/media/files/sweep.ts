import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { BlobStore, StoredBlob } from '../../../platform/files/blob-store.ts'
import { listStores } from '../../../storage/file-storage.ts'
import { idPrefix } from '../../../storage/stored-files.ts'
import { partialSuffix, resolveUploadsFolder } from './disk.ts'
import { filterIdsWithRow } from './store.ts'

/** Age of an abandoned file: longer than any upload in progress. */
export const abandonedAfterMs = 60 * 60 * 1000

/** Names of generated ids, with a suffix until the upload is complete. Anything else is not ours to delete. */
const storedNamePattern = new RegExp(`^(${idPrefix}[0-9a-f]+)(\\${partialSuffix})?$`)

/** Removes what a crash left behind in any store: incomplete uploads and bytes without a row. Returns how many. */
export async function sweepFiles(gateway: Gateway): Promise<number> {
  let removed = 0
  for (const store of listStores(gateway)) removed += await sweepStore(gateway, store)
  return removed + (await sweepUploads(gateway))
}

async function sweepStore(gateway: Gateway, store: BlobStore): Promise<number> {
  let removed = 0
  for await (const page of store.list(idPrefix)) {
    for (const key of await findLeftovers(gateway, page)) {
      await store.delete(key)
      removed++
    }
  }
  return removed
}

async function findLeftovers(gateway: Gateway, blobs: StoredBlob[]): Promise<string[]> {
  const candidates = blobs.flatMap(({ key, modifiedAt }) => {
    const [, id, suffix] = storedNamePattern.exec(key) ?? []
    return id && isAbandoned(gateway, modifiedAt) ? [{ key, id, isPartial: suffix !== undefined }] : []
  })
  if (candidates.length === 0) return []
  const owned = await filterIdsWithRow(
    gateway.db,
    candidates.map(({ id }) => id),
  )
  return candidates.filter(({ id, isPartial }) => isPartial || !owned.has(id)).map(({ key }) => key)
}

/** Abandoned uploads in several requests. */
async function sweepUploads(gateway: Gateway): Promise<number> {
  const entries = await readdir(resolveUploadsFolder(gateway), {
    recursive: true,
    withFileTypes: true,
  }).catch(() => [])
  let removed = 0
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    // Null: it was deleted during the sweep.
    const stats = entry.isFile() ? await stat(path).catch(() => null) : null
    if (!stats || !isAbandoned(gateway, stats.mtimeMs)) continue
    await rm(path, { force: true })
    removed++
  }
  return removed
}

function isAbandoned({ clock }: Gateway, modifiedAt: number): boolean {
  return clock.now() - modifiedAt > abandonedAfterMs
}
