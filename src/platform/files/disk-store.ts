import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobStore, ByteRange, StoredBlob } from './blob-store.ts'

const pageSize = 500

/** Blobs in a local folder. Keys are file names. */
export class DiskStore implements BlobStore {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The file must be in the same file system. */
  async put(key: string, path: string): Promise<void> {
    await rename(path, this.#pathOf(key))
  }

  async read(key: string, range?: ByteRange): Promise<Blob | null> {
    const file = Bun.file(this.#pathOf(key))
    if (!(await file.exists())) return null
    return range ? file.slice(range.start, range.end) : file
  }

  async delete(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true })
  }

  async *list(start = ''): AsyncGenerator<StoredBlob[]> {
    const names = (await readdir(this.#folder)).filter((name) => name.startsWith(start))
    for (let at = 0; at < names.length; at += pageSize) {
      const found = await Promise.all(names.slice(at, at + pageSize).map((name) => this.#describe(name)))
      yield found.filter((blob) => blob !== null)
    }
  }

  /** Null if it was deleted since it was listed. */
  async #describe(key: string): Promise<StoredBlob | null> {
    const stats = await stat(this.#pathOf(key)).catch(() => null)
    return stats && { key, modifiedAt: stats.mtimeMs }
  }

  #pathOf(key: string): string {
    return join(this.#folder, key)
  }
}
