/** Times are milliseconds since the epoch. */
export interface ByteCacheEntry {
  bytes: Buffer
  at: number
  until: number
}

/** Approximate memory of an entry in addition to its key and bytes. */
const entryOverheadBytes = 256

/** A cache of byte arrays with expiry, bounded by size; the least recently used entry is evicted first. */
export class ByteCache {
  /** Entries in order of last use. */
  readonly #entries = new Map<string, ByteCacheEntry>()
  #size = 0

  /** Total bytes of all entries. */
  get size(): number {
    return this.#size
  }

  get count(): number {
    return this.#entries.size
  }

  /** Lists all entries, without counting as their use. */
  list(): [key: string, entry: ByteCacheEntry][] {
    return [...this.#entries]
  }

  get(key: string, now: number): ByteCacheEntry | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    if (entry.until > now) {
      this.#entries.set(key, entry)
      return entry
    }
    this.#size -= sizeOf(key, entry)
    return undefined
  }

  /** `maxBytes` bounds the whole cache; an entry larger than that is not stored. */
  set(key: string, entry: ByteCacheEntry, maxBytes: number): void {
    this.delete(key)
    const size = sizeOf(key, entry)
    if (size > maxBytes) return
    for (const oldest of this.#entries.keys()) {
      if (this.#size + size <= maxBytes) break
      this.delete(oldest)
    }
    this.#entries.set(key, entry)
    this.#size += size
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    this.#size -= sizeOf(key, entry)
  }

  evictExpired(now: number): void {
    for (const [key, { until }] of this.#entries) if (until <= now) this.delete(key)
  }

  clear(): void {
    this.#entries.clear()
    this.#size = 0
  }
}

function sizeOf(key: string, { bytes }: ByteCacheEntry): number {
  return key.length + bytes.length + entryOverheadBytes
}
