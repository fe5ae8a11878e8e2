/** The result of one read of the revision. */
export interface RevisionReading {
  /** Differs whenever the revision does. Counted here: a database that failed over may repeat a revision. */
  version: number
  revision: number
  /** The time the read began, and the count of changes by this process at that time. */
  readAt: number
  changes: number
}

interface RevisionReaderOptions {
  /** The revision of the data, which every change of it increases. */
  read: () => Promise<number>
  /** Counts every change by this process. */
  changes: { readonly count: number }
  /** How long a reading is current unless this process changes something: how late changes by others are seen. */
  freshMs: number
}

/** Reads a revision on demand: at most once in `freshMs` and after changes by this process, for all callers together. */
export class RevisionReader {
  readonly #options: RevisionReaderOptions
  #latest: RevisionReading | null = null
  #invalidations = 0
  #running: { changes: number; reading: Promise<RevisionReading> } | null = null

  constructor(options: RevisionReaderOptions) {
    this.#options = options
  }

  /** Current or not; null before the first read. */
  get latest(): RevisionReading | null {
    return this.#latest
  }

  /** Null if the revision has to be read again. */
  get current(): RevisionReading | null {
    const latest = this.#latest
    const { changes, freshMs } = this.#options
    if (latest === null || latest.changes !== changes.count) return null
    return performance.now() - latest.readAt < freshMs ? latest : null
  }

  /** Whether this process has changed something since the reading. */
  hasChangedSince({ changes }: RevisionReading): boolean {
    return changes !== this.#options.changes.count
  }

  /** Another process has changed something: the next lookup reads the revision again. */
  invalidate(): void {
    this.#invalidations++
    this.#running = null
    if (this.#latest) this.#latest = this.#expire(this.#latest)
  }

  /** A reading as old as one that is no longer current. */
  #expire(reading: RevisionReading): RevisionReading {
    return { ...reading, readAt: reading.readAt - this.#options.freshMs }
  }

  read(): Promise<RevisionReading> {
    const changes = this.#options.changes.count
    // A read that began before a change may not have seen it.
    if (this.#running?.changes === changes) return this.#running.reading
    const running = { changes, reading: this.#start(changes) }
    this.#running = running
    const end = () => {
      if (this.#running === running) this.#running = null
    }
    running.reading.then(end, end)
    return running.reading
  }

  async #start(changes: number): Promise<RevisionReading> {
    const readAt = performance.now()
    const invalidations = this.#invalidations
    const revision = await this.#options.read()
    const latest = this.#latest
    if (latest && latest.readAt > readAt) return latest
    const isSame = latest?.revision === revision
    const version = latest ? latest.version + (isSame ? 0 : 1) : 1
    const reading = { version, revision, readAt, changes }
    // A read that began before an invalidation may not have seen the change.
    this.#latest = invalidations === this.#invalidations ? reading : this.#expire(reading)
    return this.#latest
  }
}
