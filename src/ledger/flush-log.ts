import type { Logger } from 'pino'
import type { RejectedWrite } from './journal-flusher.ts'

/** An outage is logged when it begins, when it ends, and at this interval. */
const logIntervalMs = 30_000

/** Logs what keeps the journal from being written to the database. */
export class FlushLog {
  readonly #log: Logger
  #since: number | null = null
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(log: Logger) {
    this.#log = log
  }

  /** Start of the outage of the database; null while it can be written. */
  get since(): number | null {
    return this.#since
  }

  end(): void {
    if (this.#since !== null) this.#log.warn('the database has caught up with the ledger')
    this.#since = null
  }

  begin(err: unknown): void {
    const now = performance.now()
    this.#since ??= now
    if (now - this.#loggedAt < logIntervalMs) return
    this.#loggedAt = now
    this.#log.error(
      { err },
      'cannot write to the database: charges stay in the journal until it can be written',
    )
  }

  logRejected({ id, kind, message }: RejectedWrite): void {
    const text =
      kind === 'record'
        ? 'the database rejected a record: its charge is written without the description'
        : 'the database rejected the extra statements of a charge: the charge is written without them'
    this.#log.error({ id, err: { message } }, text)
  }
}
