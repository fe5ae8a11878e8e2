import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { resolveContentPath } from '../../account/stored-files.ts'
import type { Gateway } from '../../app/gateway.ts'
import { newId } from '../../lib/ids.ts'
import { filterIdsWithRow } from './store.ts'

/** Longer than any upload in progress. */
export const abandonedAfterMs = 60 * 60 * 1000
const idsPerQuery = 500

/** File names on disk are generated ids only, with a suffix until the upload is complete. */
const storedNamePattern = /^(hg_file_[0-9a-f]+)(\.part)?$/

export function newFileId(): string {
  return newId('hg_file')
}

export function resolvePartialPath(gateway: Gateway, id: string): string {
  return `${resolveContentPath(gateway.config, id)}.part`
}

/** Holds the bytes of uploads in several requests: one folder per workspace. */
export function resolveSessionPath(gateway: Gateway, workspaceId: string, id: string): string {
  return join(resolveUploadsFolder(gateway), workspaceId, id)
}

function resolveUploadsFolder(gateway: Gateway): string {
  return join(gateway.config.dataDir, 'uploads')
}

/** The row is deleted already: bytes that cannot be removed now are left for the sweep. */
export async function removeContent(gateway: Gateway, id: string): Promise<void> {
  try {
    await rm(resolveContentPath(gateway.config, id), { force: true })
  } catch (error) {
    gateway.log.warn({ file: id, err: error }, 'the bytes of a deleted file could not be removed')
  }
}

/** Removes what a crash left behind: incomplete uploads and bytes without a row. Returns how many. */
export async function sweepFiles(gateway: Gateway): Promise<number> {
  const names = await readdir(join(gateway.config.dataDir, 'files'))
  let removed = 0
  for (let i = 0; i < names.length; i += idsPerQuery) {
    for (const name of await findLeftovers(gateway, names.slice(i, i + idsPerQuery))) {
      await rm(resolveContentPath(gateway.config, name), { force: true })
      removed++
    }
  }
  return removed + (await sweepUploads(gateway))
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
    if (!entry.isFile() || !(await isAbandoned(gateway, path))) continue
    await rm(path, { force: true })
    removed++
  }
  return removed
}

async function findLeftovers(gateway: Gateway, names: string[]): Promise<string[]> {
  const candidates: { name: string; id: string; partial: boolean }[] = []
  for (const name of names) {
    const [, id, suffix] = storedNamePattern.exec(name) ?? []
    if (id && (await isAbandoned(gateway, resolveContentPath(gateway.config, name))))
      candidates.push({ name, id, partial: suffix !== undefined })
  }
  if (candidates.length === 0) return []
  const owned = await filterIdsWithRow(
    gateway.db,
    candidates.map(({ id }) => id),
  )
  return candidates.filter(({ id, partial }) => partial || !owned.has(id)).map(({ name }) => name)
}

async function isAbandoned(gateway: Gateway, path: string): Promise<boolean> {
  // The file was deleted during the sweep.
  const stats = await stat(path).catch(() => null)
  return stats !== null && gateway.clock.now() - stats.mtimeMs > abandonedAfterMs
}
