import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { folderFlags, maxDepth } from './home-tree.ts'

/** Flags that do not block if a pipe is in place of the file. */
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const newFileFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Opens a file of a home without following any link. Null if there is no regular file at this path. */
export async function openHomeFile(home: string, path: string): Promise<FileHandle | null> {
  const names = path.split('/')
  const last = names.pop()
  if (last === undefined || names.length >= maxDepth) return null
  let folder = await tryOpen(home, folderFlags)
  for (const name of names) folder = await openBelow(folder, name, folderFlags)
  const file = await openBelow(folder, last, fileFlags)
  if (file === null || (await file.stat()).isFile()) return file
  await file.close()
  return null
}

/** Creates a file in a home. Null if there is one of this name. */
export async function createHomeFile(
  home: string,
  name: string,
  owner: number | null,
): Promise<FileHandle | null> {
  const file = await openBelow(await tryOpen(home, folderFlags), name, newFileFlags)
  if (file && owner !== null) await file.chown(owner, owner)
  return file
}

/** Closes the folder. */
async function openBelow(folder: FileHandle | null, name: string, flags: number): Promise<FileHandle | null> {
  if (folder === null) return null
  try {
    return await tryOpen(`/proc/self/fd/${folder.fd}/${name}`, flags)
  } finally {
    await folder.close()
  }
}

const expectedErrors = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENXIO', 'EEXIST', 'ENAMETOOLONG'])

async function tryOpen(path: string, flags: number): Promise<FileHandle | null> {
  try {
    return await open(path, flags, 0o644)
  } catch (error) {
    if (error instanceof Error && 'code' in error && expectedErrors.has(String(error.code))) return null
    throw error
  }
}

const chunkBytes = 64 * 1024

/** The first `size` bytes of a file, which is closed at the end. A file that has become shorter fails. */
export function streamFile(file: FileHandle, size: number): ReadableStream<Uint8Array> {
  let position = 0
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (position === size) {
        await file.close()
        controller.close()
        return
      }
      const buffer = new Uint8Array(Math.min(chunkBytes, size - position))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position)
      if (bytesRead === 0) {
        await file.close()
        throw new Error('the file has become shorter')
      }
      position += bytesRead
      controller.enqueue(buffer.subarray(0, bytesRead))
    },
    cancel: () => file.close(),
  })
}
