const defaultMaxEntries = 100_000

interface CacheEntry<V> {
  value: V
  version: number
  loadedAt: number
}

interface LoadingCacheOptions<S, V> {
  /** How long a value is served while the version is unchanged. */
  freshMs: number
  /** How long it is served while loading fails. */
  staleMs: number
  /** Changes when cached values may be out of date. */
  version: () => number
  load: (source: S) => Promise<V>
  maxEntries?: number
}

/**
 * A short-lived read-through cache. Concurrent lookups share one load; missing values and errors are not cached.
 */
export class LoadingCache<S, V> {
  readonly #options: LoadingCacheOptions<S, V>
  readonly #entries = new Map<string, CacheEntry<NonNullable<V>>>()
  readonly #loading = new Map<string, Promise<V>>()

  constructor(options: LoadingCacheOptions<S, V>) {
    this.#options = options
  }

  /** A cached value is returned without a promise. `key` identifies `source`. */
  get(key: string, source: S): V | Promise<V> {
    const entry = this.#entries.get(key)
    const { version, freshMs } = this.#options
    if (entry && entry.version === version() && performance.now() - entry.loadedAt < freshMs)
      return entry.value
    return this.#load(key, source)
  }

  #load(key: string, source: S): Promise<V> {
    const version = this.#options.version()
    const loadKey = `${version}:${key}`
    const running = this.#loading.get(loadKey)
    if (running) return running
    const loading = this.#options
      .load(source)
      .then(
        (value) => this.#store(key, value, version),
        (error: unknown) => this.#serveStale(key, error),
      )
      .finally(() => this.#loading.delete(loadKey))
    this.#loading.set(loadKey, loading)
    return loading
  }

  #serveStale(key: string, error: unknown): V {
    const entry = this.#entries.get(key)
    const { version, staleMs } = this.#options
    if (entry && entry.version === version() && performance.now() - entry.loadedAt < staleMs)
      return entry.value
    throw error
  }

  #store(key: string, value: V, version: number): V {
    this.#entries.delete(key)
    if (value !== undefined && value !== null) {
      this.#entries.set(key, { value, version, loadedAt: performance.now() })
      const oldest = this.#entries.size > (this.#options.maxEntries ?? defaultMaxEntries)
      if (oldest) this.#entries.delete(this.#entries.keys().next().value ?? '')
    }
    return value
  }
}
