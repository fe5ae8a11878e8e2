/** Something kept, and for how long: milliseconds of the wall clock. */
export interface Kept {
  bytes: Buffer
  at: number
  until: number
}

/** What an entry takes beside its key and its bytes, about. */
const entryBytes = 256

/** Bytes under keys, for a while, in bounded space: what was not asked for longest goes first. */
export class ByteCache {
  /** In the order of their last use. */
  readonly #entries = new Map<string, Kept>()
  #size = 0

  /** Of everything in it, in bytes. */
  get size(): number {
    return this.#size
  }

  get count(): number {
    return this.#entries.size
  }

  find(key: string, now: number): Kept | undefined {
    const kept = this.#entries.get(key)
    if (!kept) return undefined
    this.#entries.delete(key)
    if (kept.until > now) {
      this.#entries.set(key, kept)
      return kept
    }
    this.#size -= sizeOf(key, kept)
    return undefined
  }

  /** `most` is the size of the whole; what would not fit even alone is not kept. */
  put(key: string, kept: Kept, most: number): void {
    this.delete(key)
    const size = sizeOf(key, kept)
    if (size > most) return
    for (const oldest of this.#entries.keys()) {
      if (this.#size + size <= most) break
      this.delete(oldest)
    }
    this.#entries.set(key, kept)
    this.#size += size
  }

  delete(key: string): void {
    const kept = this.#entries.get(key)
    if (!kept) return
    this.#entries.delete(key)
    this.#size -= sizeOf(key, kept)
  }

  dropExpired(now: number): void {
    for (const [key, { until }] of this.#entries) if (until <= now) this.delete(key)
  }

  clear(): void {
    this.#entries.clear()
    this.#size = 0
  }
}

function sizeOf(key: string, { bytes }: Kept): number {
  return key.length + bytes.length + entryBytes
}
