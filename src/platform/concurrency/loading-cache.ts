import type { RevisionReader, RevisionReading } from './revision-reader.ts'

const defaultMaxEntries = 100_000

interface CacheEntry<V> {
  value: V
  /** The last reading of the revision that the value was valid for. */
  reading: RevisionReading
}

interface LoadingCacheOptions<S, V> {
  /** The revision of the data that values are loaded from: a value is valid until it changes. */
  revisions: RevisionReader
  /** Milliseconds a value is served after it was last known valid, while the revision or the value cannot be read. */
  staleMs: number
  load: (source: S) => Promise<V>
  maxEntries?: number
  /** Number of keys without a value that are remembered until the revision changes. */
  maxMissing?: number
}

/** A read-through cache. Concurrent lookups share one load; errors are not cached. */
export class LoadingCache<S, V> {
  readonly #options: LoadingCacheOptions<S, V>
  readonly #entries = new Map<string, CacheEntry<NonNullable<V>>>()
  readonly #loading = new Map<string, Promise<V>>()
  /** Keys without a value at one reading of the revision. Never served stale: the value may exist by now. */
  #missing = { version: 0, keys: new Map<string, V>() }

  constructor(options: LoadingCacheOptions<S, V>) {
    this.#options = options
  }

  /** A cached value is returned without a promise. `key` identifies `source`. */
  get(key: string, source: S): V | Promise<V> {
    const reading = this.#options.revisions.current
    if (reading === null) return this.#readAndGet(key, source)
    return this.#find(key, reading) ?? this.#loadUnlessMissing(key, source, reading)
  }

  /** The value of the current reading; undefined if it is not in the cache, or older. */
  peek(key: string): NonNullable<V> | undefined {
    const reading = this.#options.revisions.current
    return reading === null ? undefined : this.#find(key, reading)
  }

  async #readAndGet(key: string, source: S): Promise<V> {
    let reading: RevisionReading
    try {
      reading = await this.#options.revisions.read()
    } catch (error) {
      return this.#serveStale(key, error)
    }
    return this.#find(key, reading) ?? this.#loadUnlessMissing(key, source, reading)
  }

  /** The value as it is now, from `load`, unless it is known to be missing. The value itself is not cached. */
  async getCurrent(key: string, load: () => Promise<V>): Promise<V> {
    const reading = this.#options.revisions.current
    if (reading && this.#isMissing(key, reading)) return this.#missing.keys.get(key) as V
    const value = await load()
    if (value !== undefined && value !== null) return value
    if (reading) this.#rememberMissing(key, value, reading)
    // So that the next lookup has a reading from before its load.
    else await this.#options.revisions.read()
    return value
  }

  #loadUnlessMissing(key: string, source: S, reading: RevisionReading): V | Promise<V> {
    return this.#isMissing(key, reading)
      ? (this.#missing.keys.get(key) as V)
      : this.#load(key, source, reading)
  }

  #isMissing(key: string, reading: RevisionReading): boolean {
    return this.#missing.version === reading.version && this.#missing.keys.has(key)
  }

  #find(key: string, reading: RevisionReading): NonNullable<V> | undefined {
    const entry = this.#entries.get(key)
    if (entry?.reading.version !== reading.version) return undefined
    entry.reading = reading
    return entry.value
  }

  /** The revision was read first: if it changes meanwhile, the value is stored for the earlier one. */
  #load(key: string, source: S, reading: RevisionReading): Promise<V> {
    const loadKey = `${reading.version}:${key}`
    const running = this.#loading.get(loadKey)
    if (running) return running
    const loading = this.#options
      .load(source)
      .then(
        (value) => this.#store(key, value, reading),
        (error: unknown) => this.#serveStale(key, error),
      )
      .finally(() => this.#loading.delete(loadKey))
    this.#loading.set(loadKey, loading)
    return loading
  }

  /** A change by this process is never hidden. */
  #serveStale(key: string, error: unknown): V {
    const { revisions, staleMs } = this.#options
    if (revisions.latest) this.#find(key, revisions.latest)
    const entry = this.#entries.get(key)
    if (!entry || revisions.hasChangedSince(entry.reading)) throw error
    if (performance.now() - entry.reading.readAt >= staleMs) throw error
    return entry.value
  }

  #store(key: string, value: V, reading: RevisionReading): V {
    this.#entries.delete(key)
    if (value !== undefined && value !== null) {
      this.#entries.set(key, { value, reading })
      const oldest = this.#entries.size > (this.#options.maxEntries ?? defaultMaxEntries)
      if (oldest) this.#entries.delete(this.#entries.keys().next().value ?? '')
    } else {
      this.#rememberMissing(key, value, reading)
    }
    return value
  }

  #rememberMissing(key: string, value: V, { version }: RevisionReading): void {
    const { maxMissing = 0 } = this.#options
    if (maxMissing === 0) return
    if (this.#missing.version !== version || this.#missing.keys.size >= maxMissing)
      this.#missing = { version, keys: new Map() }
    this.#missing.keys.set(key, value)
  }
}
