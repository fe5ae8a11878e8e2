/** How many things are remembered before the oldest are forgotten. */
const defaultMaxEntries = 100_000

interface Entry<V> {
  value: V
  version: number
  at: number
}

interface Options<S, V> {
  /** How long a value may be believed when nothing is known to have changed. */
  freshMs: number
  /** How long it may still be believed when it cannot be loaded again. */
  staleMs: number
  /** Grows when what was loaded before may be out of date. */
  version: () => number
  load: (subject: S) => Promise<V>
  maxEntries?: number
}

/**
 * What is asked for again and again, remembered for a moment. Concurrent questions share one answer; what
 * turned out not to exist, and errors, are never remembered.
 */
export class Memo<S, V> {
  readonly #options: Options<S, V>
  readonly #entries = new Map<string, Entry<NonNullable<V>>>()
  readonly #loading = new Map<string, Promise<V>>()

  constructor(options: Options<S, V>) {
    this.#options = options
  }

  /** Not a promise when it is remembered: the usual case costs nothing. `key` stands for the subject. */
  get(key: string, subject: S): V | Promise<V> {
    const entry = this.#entries.get(key)
    const { version, freshMs } = this.#options
    if (entry && entry.version === version() && performance.now() - entry.at < freshMs) return entry.value
    return this.#load(key, subject)
  }

  #load(key: string, subject: S): Promise<V> {
    const version = this.#options.version()
    const slot = `${version}:${key}`
    const running = this.#loading.get(slot)
    if (running) return running
    const loading = this.#options
      .load(subject)
      .then(
        (value) => this.#keep(key, value, version),
        (error: unknown) => this.#lastKnown(key, error),
      )
      .finally(() => this.#loading.delete(slot))
    this.#loading.set(slot, loading)
    return loading
  }

  #lastKnown(key: string, error: unknown): V {
    const entry = this.#entries.get(key)
    const { version, staleMs } = this.#options
    if (entry && entry.version === version() && performance.now() - entry.at < staleMs) return entry.value
    throw error
  }

  #keep(key: string, value: V, version: number): V {
    this.#entries.delete(key)
    if (value !== undefined && value !== null) {
      this.#entries.set(key, { value, version, at: performance.now() })
      const oldest = this.#entries.size > (this.#options.maxEntries ?? defaultMaxEntries)
      if (oldest) this.#entries.delete(this.#entries.keys().next().value ?? '')
    }
    return value
  }
}
