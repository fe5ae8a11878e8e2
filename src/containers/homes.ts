import { chmod, chown, link, lstat, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newId, newUuid } from '../platform/crypto/ids.ts'

const homePattern = /^home_[0-9a-f]{24}$/

/** The folder with the homes of containers, on this machine or on a disk that nodes share. */
export class HomeFolder {
  readonly #folder: string
  /** The user that owns the homes; null: that of the gateway. */
  readonly #owner: number | null
  #id: Promise<string> | null = null

  constructor(folder: string, owner: number | null) {
    this.#folder = folder
    this.#owner = owner
  }

  /** The same for all nodes that share the folder. */
  id(): Promise<string> {
    this.#id ??= this.#readId()
    return this.#id
  }

  resolve(home: string): string {
    return join(this.#folder, 'homes', home)
  }

  async create(): Promise<string> {
    await this.id()
    const home = newId('home')
    await mkdir(this.resolve(home), { mode: 0o700 })
    if (this.#owner !== null) await chown(this.resolve(home), this.#owner, this.#owner)
    return home
  }

  /** An empty home, or what is left of one. */
  async remove(home: string): Promise<void> {
    await rm(this.resolve(home), { recursive: true, force: true })
  }

  /** The time by the clock of the file system, which is coarser than that of the process. */
  async readTime(): Promise<number> {
    const path = join(this.#folder, `${newUuid()}.time`)
    await writeFile(path, '')
    const { ctimeMs } = await stat(path)
    await rm(path)
    return ctimeMs
  }

  /** All homes, those of other nodes that share the folder included. */
  async list(): Promise<string[]> {
    await this.id()
    return (await readdir(join(this.#folder, 'homes'))).filter((name) => homePattern.test(name))
  }

  /** Whether it is a folder, which then can be opened whatever its permissions were. A link to one is none. */
  async open(home: string): Promise<boolean> {
    const path = this.resolve(home)
    if (!(await lstat(path).catch(() => null))?.isDirectory()) return false
    await chmod(path, 0o700)
    if (this.#owner !== null) await chown(path, this.#owner, this.#owner)
    return true
  }

  /** Whether a home was there and unchanged before `time`. */
  async isOlder(home: string, time: number): Promise<boolean> {
    const stats = await lstat(this.resolve(home)).catch(() => null)
    return stats !== null && stats.ctimeMs < time
  }

  async #readId(): Promise<string> {
    await mkdir(join(this.#folder, 'homes'), { recursive: true, mode: 0o700 })
    const path = join(this.#folder, 'id')
    const draft = `${path}.${newUuid()}`
    await writeFile(draft, newUuid(), { mode: 0o600 })
    // Of two nodes that start at the same time, the first decides.
    await link(draft, path).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    })
    await rm(draft)
    return (await readFile(path, 'utf8')).trim()
  }
}
