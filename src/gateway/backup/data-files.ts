import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { listSegmentFiles } from '../../ledger/journal-segment.ts'
import { listWorkerDirs, waitingFileNames } from '../spooled-charges.ts'

/** A file of the data directory, by its path in it. */
export interface DataFile {
  name: string
  path: string
}

/** What the gateway stores in its data directory besides the database and the files of clients. */
export const dataNames = { heads: 'audit-heads.txt', secret: 'secret.key', benchmarks: 'benchmarks' }

const videoFolder = 'videos'
const videoPattern = /^video_[0-9a-f]+-\d+\.mp4$/

/** Files that are small, and written to the archive before the database: what they refer to is then in it. */
export async function listDataFiles(dataDir: string): Promise<DataFile[]> {
  const runs = await listNames(join(dataDir, dataNames.benchmarks), true)
  const names = [dataNames.heads, ...runs.map((name) => `${dataNames.benchmarks}/${name}`)]
  return [...names.map((name) => ({ name, path: join(dataDir, name) })), ...listSpooled(dataDir)]
}

/** Charges that wait for the database, also those of workers: in a restored directory they are those of one process. */
function listSpooled(dataDir: string): DataFile[] {
  const folders = [dataDir, ...listWorkerDirs(dataDir)]
  return waitingFileNames.flatMap((name) => {
    const paths = folders.flatMap((folder) => listSegmentFiles(join(folder, name)))
    return paths.map((path, at) => ({ name: `${name}-ledger-${at + 1}`, path }))
  })
}

/** Complete videos. */
export async function listVideos(dataDir: string): Promise<DataFile[]> {
  const names = await listNames(join(dataDir, videoFolder), false)
  return names
    .filter((name) => videoPattern.test(name))
    .map((name) => ({ name, path: join(dataDir, videoFolder, name) }))
}

async function listNames(folder: string, recursive: boolean): Promise<string[]> {
  const entries = await readdir(folder, { recursive, withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Null if the file does not exist. The caller closes it. */
export async function openFile(path: string): Promise<{ file: FileHandle; size: number } | null> {
  try {
    const file = await open(path)
    return { file, size: (await file.stat()).size }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

const chunkBytes = 1024 * 1024

/** As many bytes as it had when it was opened: it may grow meanwhile. */
export async function* readBytes(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < size; ) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size - position))
    const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield chunk.subarray(0, bytesRead)
  }
}
