import type { Logger } from 'pino'
import { isRejectedData } from '../platform/db/batch.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type {
  CheckpointOperation,
  GrantLeaseOperation,
  LeaseOperation,
  LedgerOperation,
  Settlement,
  UseLeaseOperation,
} from './engine.ts'
import { FlushLog } from './flush-log.ts'
import { stripRecord } from './generation.ts'
import type { LeaseBook } from './lease-book.ts'
import { type JournalIdentity, JournalTakenError, type LeaseDatabase } from './lease-database.ts'
import type { LeaseTime } from './lease-time.ts'
import type { JournalFile, LeaseJournal } from './node-journal.ts'
import { LeaseLostError } from './postgres-transaction.ts'
import { createRelease } from './settlement.ts'

/**
 * A node uses its leases for this time after it began a transaction that showed them to be its own. Another takes them
 * over when it has seen no such transaction for `silentMs`. The rest is for clocks and slow threads.
 */
export const leaseTerms = { termMs: 8000, silentMs: 12_000, renewMs: 2000 }
const lateBatchSize = 100

/** What a segment of the journal has, and what leases need besides. */
interface Round {
  journal: JournalIdentity
  number: number
  /** Null if nothing was journaled. */
  file: JournalFile | null
  uses: UseLeaseOperation[]
  checkpoints: CheckpointOperation[]
  written: PromiseWithResolvers<void>
  /** The leases are lost: settlements correct what was settled for them. */
  isLate: boolean
}

export interface LeaseRoundsOptions {
  database: LeaseDatabase
  book: LeaseBook
  journal: LeaseJournal
  time: LeaseTime
  nodeId: string
  clock: Clock
  log: Logger
  /** Called at the end of a segment. */
  onCut: () => void
}

/** Writes what was decided within leases, round by round. */
export class LeaseRounds {
  readonly #options: LeaseRoundsOptions
  readonly #flushLog: FlushLog
  readonly #rounds: Round[] = []
  #checkpoints: CheckpointOperation[] = []
  /** Resolves when what was decided since the last round is in the database. */
  #written = Promise.withResolvers<void>()
  /** Leases whose grant may have been committed without this node having learned of it. */
  readonly #discarded: string[] = []
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | null = null
  #isRunning = false
  #termEnd = 0
  #wallEnd = 0
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(options: LeaseRoundsOptions) {
    this.#options = options
    this.#flushLog = new FlushLog(options.log)
  }

  /** Start of the outage of the database; null while it can be written. */
  get failingSince(): number | null {
    return this.#flushLog.since
  }

  /** Whether the leases are certainly those of this node. The other clock does not stop while the machine sleeps. */
  get isTermValid(): boolean {
    const { time } = this.#options
    return time.now() < this.#termEnd && time.wall() < this.#wallEnd
  }

  /** A transaction that began then has shown that the leases are those of this node. */
  extendTerm(startedAt: number): void {
    const { time } = this.#options
    this.#termEnd = startedAt + leaseTerms.termMs
    this.#wallEnd = time.wall() - (time.now() - startedAt) + leaseTerms.termMs
    this.#renewedAt = startedAt
  }

  addCheckpoint(op: CheckpointOperation): void {
    this.#checkpoints.push(op)
  }

  /** Leases of a transaction whose result is unknown or too late. */
  discard(grants: readonly GrantLeaseOperation[]): void {
    this.#discarded.push(...grants.map(({ id }) => id))
  }

  /** Resolves when what is decided now is in the database, however long that takes. */
  get written(): Promise<void> {
    return this.#written.promise
  }

  /** Resolves when everything that was decided is in the database; null when it is. Rejects if it cannot be written. */
  flush(): Promise<void> | null {
    if (!this.#isRunning && !this.#hasWork) return null
    this.#next ??= this.#runNext()
    return this.#next
  }

  get #hasWork(): boolean {
    const { book, journal } = this.#options
    return (
      this.#rounds.length > 0 ||
      journal.unflushedBytes > 0 ||
      book.isChanged ||
      book.hasLow ||
      this.#discarded.length > 0
    )
  }

  async #runNext(): Promise<void> {
    await this.#running.catch(() => undefined)
    this.#next = null
    this.#running = this.#writeAll()
    await this.#running
  }

  async #writeAll(): Promise<void> {
    this.#isRunning = true
    try {
      await this.#writeQueued()
      this.#cut()
      await this.#writeQueued()
      this.#flushLog.end()
    } catch (error) {
      this.#flushLog.begin(error)
      if (this.#options.journal.isSegmentFull) this.#cut()
      throw error
    } finally {
      this.#isRunning = false
    }
  }

  async #writeQueued(): Promise<void> {
    for (let round = this.#rounds[0]; round; round = this.#rounds[0]) await this.#writeFirst(round)
  }

  /** Begins the next round: what is decided from now on belongs to another. */
  #cut(): void {
    const { book, journal, nodeId, onCut } = this.#options
    if (!this.#hasWork) return
    const written = this.#written
    this.#written = Promise.withResolvers<void>()
    const file = journal.close(written.promise)
    if (file) onCut()
    this.#rounds.push({
      journal: { id: journal.id, nodeId },
      number: file?.segmentId.number ?? journal.skip(),
      file,
      uses: book.takeUses(),
      checkpoints: this.#checkpoints,
      written,
      isLate: false,
    })
    this.#checkpoints = []
  }

  async #writeFirst(round: Round): Promise<void> {
    const { journal } = this.#options
    try {
      await this.#write(round)
    } catch (error) {
      if (!(error instanceof JournalTakenError || error instanceof LeaseLostError)) throw error
      this.#loseLeases()
      await this.#writeLate(round)
    }
    this.#rounds.shift()
    round.written.resolve()
    if (round.file) await journal.recycle(round.file)
  }

  async #write(round: Round): Promise<void> {
    if (round.isLate) return this.#writeLate(round)
    try {
      await this.#transact(round)
    } catch (error) {
      if (!isRejectedData(error)) throw error
      await this.#writeIndividually(round)
    }
    this.#options.book.confirm(round.uses)
  }

  async #transact({ journal, number, uses, checkpoints }: Round): Promise<void> {
    const { database, book, clock, time } = this.#options
    const grants = book.takeGrants(time.now())
    const releases = this.#discarded.splice(0)
    const ops: (LedgerOperation | LeaseOperation)[] = [
      ...releases.map((id) => createRelease(id, '')),
      ...uses,
      ...checkpoints,
      ...grants,
    ]
    const startedAt = time.now()
    try {
      const outcome = await database.write(journal, number, ops, isoNow(clock))
      if (!outcome) return
      book.receive(outcome.leases)
      this.extendTerm(startedAt)
    } catch (error) {
      this.#discarded.push(...releases)
      throw error
    }
  }

  /** One rejected row must not keep the others from being written. */
  async #writeIndividually(round: Round): Promise<void> {
    const { database, clock } = this.#options
    const settlements = round.uses.flatMap((use) =>
      use.settlements.map((settlement) => ({ use, settlement })),
    )
    for (const { use, settlement } of settlements) {
      const attempts = [settlement, withoutExtraStatements(settlement), withoutDescription(settlement)]
      for (const [index, attempt] of attempts.entries()) {
        try {
          const single = { ...use, admits: [], returned: { amount: 0n, byok: 0n }, isLast: false }
          await database.write(round.journal, null, [{ ...single, settlements: [attempt] }], isoNow(clock))
          break
        } catch (error) {
          if (!isRejectedData(error) || index === attempts.length - 1) throw error
          const kind = index === 0 ? 'extra statements' : 'record'
          this.#flushLog.logRejected({ id: settlement.id, kind, message: String(error) })
        }
      }
    }
    const uses = round.uses.map((use) => ({ ...use, settlements: [], writtenHolds: new Set<string>() }))
    await this.#transact({ ...round, uses })
  }

  /** Nothing of the leases may be used any more; what was decided within them is settled as late. */
  #loseLeases(): void {
    const { book, journal, nodeId, log } = this.#options
    log.warn('another node has taken over the leases of this one: what it still settles corrects that')
    this.#cut()
    // Even without anything to settle: what was reserved for it is released.
    if (this.#rounds.length === 0) this.#rounds.push(createEmptyRound({ id: journal.id, nodeId }))
    for (const round of this.#rounds) round.isLate = true
    book.clear()
    journal.rename()
    this.#termEnd = 0
  }

  async #writeLate({ uses, journal }: Round): Promise<void> {
    const { database, clock } = this.#options
    const settlements = uses.flatMap((use) => use.settlements)
    for (let at = 0; at < settlements.length; at += lateBatchSize) {
      const batch = settlements.slice(at, at + lateBatchSize)
      await this.#settleLate(batch.map((settlement) => ({ ...settlement, isLeftover: true, isRetry: true })))
    }
    await database.forget(journal, isoNow(clock))
  }

  async #settleLate(settlements: readonly Settlement[]): Promise<void> {
    const { database, clock } = this.#options
    try {
      await database.run(settlements, isoNow(clock))
    } catch (error) {
      if (!isRejectedData(error)) throw error
      const [only] = settlements
      if (only && settlements.length === 1) {
        this.#flushLog.logRejected({ id: only.id, kind: 'record', message: String(error) })
        await database.run([withoutDescription(only)], isoNow(clock))
      } else for (const settlement of settlements) await this.#settleLate([settlement])
    }
  }

  /** Gives up the leases, which another node has. */
  async abandon(): Promise<void> {
    this.#loseLeases()
    await this.flush()
  }

  /** Shows other nodes that the leases are in use. */
  async renew(): Promise<void> {
    const { database, book, journal, nodeId, clock, time } = this.#options
    if (book.size === 0 || time.now() - this.#renewedAt < leaseTerms.renewMs) return
    const startedAt = time.now()
    const id = journal.id
    try {
      await database.write({ id, nodeId }, null, [], isoNow(clock))
      if (id === journal.id) this.extendTerm(startedAt)
    } catch (error) {
      if (!(error instanceof JournalTakenError)) throw error
      if (id === journal.id) await this.abandon()
    }
  }

  /** Writes everything and ends the leases. Holds that are still open are left to their rows. */
  async close(): Promise<void> {
    const { database, book, journal, nodeId, clock } = this.#options
    await this.flush()
    book.releaseAll()
    await this.flush()
    await database.forget({ id: journal.id, nodeId }, isoNow(clock))
    await journal.end()
  }
}

function createEmptyRound(journal: JournalIdentity): Round {
  const written = Promise.withResolvers<void>()
  return { journal, number: 0, file: null, uses: [], checkpoints: [], written, isLate: true }
}

function withoutExtraStatements(settlement: Settlement): Settlement {
  return { ...settlement, extraStatements: [] }
}

function withoutDescription({ generation, ...settlement }: Settlement): Settlement {
  return { ...settlement, generation: generation && stripRecord(generation), extraStatements: [] }
}
