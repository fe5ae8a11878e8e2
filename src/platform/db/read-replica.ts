import { withDeadline } from '../time/deadline.ts'
import { closeDb, type Db, openDb } from './db.ts'
import { isDatabaseUnavailable, QueryTimeoutError } from './unavailable.ts'

/** A statement that takes longer is answered by the database instead. */
const queryTimeoutMs = 5000
/** A replica that does not say within this time how far it is behind is away. */
const measureTimeoutMs = 1000
/** Reads in this time rely on the same measurement. */
const measureEveryMs = 1000
/** After a failure, reads go to the database for this long. */
const pauseMs = 5000

export interface ReplicaOptions {
  poolSize: number
  /** Milliseconds that it may be behind. */
  maxLagMs: number
  /** The time of the last write of this process that the replica shows; null if it shows none. */
  readLastWrite: (replica: Db) => Promise<number | null>
  /** The clock that these times are from. */
  now: () => number
}

/** What this process knows of the replica. */
export interface ReplicaStatus {
  /** Why it was not used when it was last tried; null if it was. */
  problem: string | null
  /** Reads that it answered. */
  reads: number
  /** Reads that the database answered instead. */
  fallbacks: number
}

/**
 * A streaming replica of the database, for reads that may miss what was written in the last seconds. Writes arrive there
 * in their order, so one that this process repeats all the time shows how far the replica is behind, and that it is a
 * replica of this database at all.
 */
export class ReadReplica {
  readonly maxLagMs: number
  readonly status: ReplicaStatus = { problem: null, reads: 0, fallbacks: 0 }
  readonly #db: Db
  readonly #options: ReplicaOptions
  #lastWrite: number | null = null
  #measuredAt = Number.NEGATIVE_INFINITY
  #pausedUntil = Number.NEGATIVE_INFINITY
  #measuring: Promise<void> | null = null

  /** Connects when it is first read from. */
  constructor(url: string, options: ReplicaOptions) {
    this.#db = openDb(url, { queryTimeoutMs, poolSize: options.poolSize })
    this.#options = options
    this.maxLagMs = options.maxLagMs
  }

  /** Milliseconds that it may be behind, at most; null if it is away, or was never measured. */
  get lagMs(): number | null {
    return this.#lastWrite === null ? null : Math.max(0, this.#options.now() - this.#lastWrite)
  }

  /** Resolves to what `read` finds in the replica, or in `primary` if the replica is away, too slow or too far behind. */
  async readOr<T>(primary: Db, read: (db: Db) => Promise<T>): Promise<T> {
    if (await this.measure()) {
      try {
        const found = await read(this.#db)
        this.status.reads++
        return found
      } catch (error) {
        if (!isOfDatabase(error)) throw error
        this.#fail(error)
      }
    }
    this.status.fallbacks++
    return read(primary)
  }

  /** Finds out whether the replica can be read from, once a second at most. */
  async measure(): Promise<boolean> {
    const now = performance.now()
    if (now < this.#pausedUntil) return false
    if (now - this.#measuredAt > measureEveryMs || !this.#isWithinBound()) {
      this.#measuring ??= this.#readLag().finally(() => {
        this.#measuring = null
      })
      await this.#measuring
    }
    return this.#isWithinBound()
  }

  close(): Promise<void> {
    return closeDb(this.#db)
  }

  #isWithinBound(): boolean {
    return this.lagMs !== null && this.lagMs <= this.maxLagMs
  }

  async #readLag(): Promise<void> {
    try {
      const reading = this.#options.readLastWrite(this.#db)
      this.#lastWrite = await withDeadline(measureTimeoutMs, reading, () => new QueryTimeoutError())
      this.#measuredAt = performance.now()
      this.status.problem = this.#describeLag()
    } catch (error) {
      this.#fail(error)
    }
  }

  #describeLag(): string | null {
    if (this.#lastWrite === null) return 'it is no replica of this database, or far behind'
    return this.#isWithinBound() ? null : 'it is too far behind'
  }

  #fail(error: unknown): void {
    this.#lastWrite = null
    this.status.problem = isDatabaseUnavailable(error) ? 'it does not answer' : 'it cannot answer a query'
    this.#pausedUntil = performance.now() + pauseMs
  }
}

/** Not an error of the reader: the database decides whether it is one there, too. */
function isOfDatabase(error: unknown): boolean {
  return isDatabaseUnavailable(error) || (error instanceof Error && error.name === 'PostgresError')
}
