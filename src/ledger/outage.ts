import type { Logger } from 'pino'

/** An outage is logged when it begins, when it ends, and at this interval. */
const logIntervalMs = 30_000

/** Tells whether the ledger can be written, and logs while it cannot. */
export class LedgerOutage {
  readonly #log: Logger
  /** Null while it can be written. */
  since: number | null = null
  #loggedAt = 0
  #spoolErrorLoggedAt = Number.NEGATIVE_INFINITY

  constructor(log: Logger) {
    this.#log = log
  }

  begin(): void {
    this.since ??= performance.now()
  }

  end(): void {
    if (this.since === null) return
    const seconds = (performance.now() - this.since) / 1000
    this.#log.warn({ seconds }, 'the ledger can be written again')
    this.since = null
  }

  log(err: unknown, waiting: number): void {
    const now = performance.now()
    if (now - this.#loggedAt <= logIntervalMs) return
    this.#loggedAt = now
    this.#log.error({ err, waiting }, 'the ledger cannot be written')
  }

  logSpoolError(err: unknown): void {
    const now = performance.now()
    if (now - this.#spoolErrorLoggedAt < logIntervalMs) return
    this.#spoolErrorLoggedAt = now
    this.#log.error({ err }, 'charges waiting for the database could not be written to disk')
  }
}
