import type { Logger } from 'pino'
import { isRejectedData } from '../platform/db/batch.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import {
  type AdmitOperation,
  type CheckpointOperation,
  encodeHold,
  type GrantLeaseOperation,
  type LeaseOperation,
  type LedgerOperation,
  type Settlement,
  type UseLeaseOperation,
} from './engine.ts'
import { FlushLog } from './flush-log.ts'
import type { LeaseBook } from './lease-book.ts'
import { type JournalIdentity, JournalTakenError, type LeaseDatabase } from './lease-database.ts'
import type { LeaseTime } from './lease-time.ts'
import type { JournalFile, LeaseJournal } from './node-journal.ts'
import { LeaseLostError } from './postgres-transaction.ts'
import { type SettlementWriter, settleLate, writeSingle } from './rejected-settlements.ts'
import { createRelease } from './settlement.ts'

/**
 * A node uses its leases for this time after it began a transaction that showed them to be its own. Another takes them
 * over when it has seen no such transaction for `silentMs`. The rest is for clocks and slow threads.
 */
export const leaseTerms = { termMs: 8000, silentMs: 12_000, renewMs: 2000 }

/** What a segment of the journal has, and what leases need besides. */
interface Round {
  journal: JournalIdentity
  number: number
  /** Null if nothing was journaled. */
  file: JournalFile | null
  uses: UseLeaseOperation[]
  checkpoints: CheckpointOperation[]
  written: PromiseWithResolvers<void>
  settledIds: readonly string[]
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
  /** Preserves a settlement that the database does not accept. */
  onRejected: (settlement: Settlement) => Promise<void>
}

/** Writes what was decided within leases, round by round. */
export class LeaseRounds {
  readonly #options: LeaseRoundsOptions
  readonly #flushLog: FlushLog
  readonly #rounds: Round[] = []
  #checkpoints: CheckpointOperation[] = []
  /** Settled within leases, and when that is in the database. */
  readonly #writing = new Map<string, Promise<void>>()
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

  /** When a settlement that was carried out is in the database; undefined if none is being written. */
  findWriting(id: string): Promise<void> | undefined {
    return this.#writing.get(id)
  }

  addSettlement(id: string): void {
    this.#writing.set(id, this.#written.promise)
  }

  /** Whether one of these holds was within a lease that is lost, and may have no row yet. */
  hasLost(ids: readonly string[]): boolean {
    const late = this.#rounds.filter(({ isLate }) => isLate)
    return late.some((round) => listAdmits(round).some(({ request }) => ids.includes(request.id)))
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
      this.cut()
      await this.#writeQueued()
      this.#flushLog.end()
    } catch (error) {
      this.#flushLog.begin(error)
      if (this.#options.journal.isSegmentFull) this.cut()
      throw error
    } finally {
      this.#isRunning = false
    }
  }

  async #writeQueued(): Promise<void> {
    for (let round = this.#rounds[0]; round; round = this.#rounds[0]) await this.#writeFirst(round)
  }

  /** Begins the next round: what is decided from now on belongs to another. */
  cut(): void {
    const { book, journal, nodeId, onCut } = this.#options
    if (!this.#hasWork) return
    const written = this.#written
    this.#written = Promise.withResolvers<void>()
    const file = journal.close(written.promise)
    if (file) onCut()
    const uses = book.takeUses()
    this.#rounds.push({
      journal: { id: journal.id, nodeId },
      number: file?.segmentId.number ?? journal.skip(),
      file,
      uses,
      checkpoints: this.#checkpoints,
      written,
      settledIds: uses.flatMap(({ settlements }) => settlements.map(({ id: settled }) => settled)),
      isLate: false,
    })
    this.#checkpoints = []
  }

  async #writeFirst(round: Round): Promise<void> {
    const { journal, log } = this.#options
    try {
      await this.#write(round)
    } catch (error) {
      if (!(error instanceof JournalTakenError || error instanceof LeaseLostError)) throw error
      this.#loseLeases()
      await this.#writeLate(round)
    }
    this.#rounds.shift()
    for (const id of round.settledIds) this.#writing.delete(id)
    round.written.resolve()
    // A slow disk must not delay the next round.
    if (round.file)
      void journal.recycle(round.file).catch((err: unknown) => log.warn({ err }, 'journal file not reused'))
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

  /** One rejected row must not keep the others from being written. What is written leaves the round. */
  async #writeIndividually(round: Round): Promise<void> {
    const { book } = this.#options
    for (const [index, use] of round.uses.entries()) {
      let rest = use
      for (const settlement of use.settlements) {
        await writeSingle(this.#writer, round.journal, noChange(use), settlement)
        book.confirm([{ ...noChange(use), settlements: [settlement] }])
        rest = { ...rest, settlements: rest.settlements.slice(1) }
        round.uses[index] = rest
      }
      round.uses[index] = { ...rest, writtenHolds: new Set() }
    }
    await this.#transact(round)
  }

  /** Nothing of the leases may be used any more; what was decided within them is settled as late. */
  #loseLeases(): void {
    const { book, journal, nodeId, log } = this.#options
    log.warn('another node has taken over the leases of this one: what it still settles corrects that')
    this.cut()
    // Even without anything to settle: what was reserved for it is released.
    if (this.#rounds.length === 0) this.#rounds.push(createEmptyRound({ id: journal.id, nodeId }))
    for (const round of this.#rounds) round.isLate = true
    book.clear()
    journal.rename()
    this.#termEnd = 0
  }

  async #writeLate(round: Round): Promise<void> {
    const { database, clock } = this.#options
    const { uses, journal, checkpoints } = round
    await settleLate(
      this.#writer,
      uses.flatMap((use) => use.settlements),
    )
    const settledIds = new Set(this.#rounds.flatMap((other) => other.settledIds))
    const open = listAdmits(round).filter(({ request }) => !settledIds.has(request.id))
    await database.placeInterrupted(
      {
        holds: open.map((op) => ({ journal: journal.id, hold: encodeHold(op) })),
        checkpoints: new Map(checkpoints.map(({ id, checkpoint }) => [id, checkpoint])),
      },
      isoNow(clock),
    )
    // Until then, what is reserved for the others stays.
    const isLast = this.#rounds.every((other) => other === round || other.journal.id !== journal.id)
    if (isLast) await database.forget(journal, isoNow(clock))
  }

  get #writer(): SettlementWriter {
    const { database, clock, onRejected } = this.#options
    return { database, clock, onRejected, flushLog: this.#flushLog }
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
    // Before the database forgets how far it was flushed.
    await journal.end()
    await database.forget({ id: journal.id, nodeId }, isoNow(clock))
  }
}

function createEmptyRound(journal: JournalIdentity): Round {
  const written = Promise.withResolvers<void>()
  return { journal, number: 0, file: null, uses: [], checkpoints: [], written, settledIds: [], isLate: true }
}

/** Requests that were in progress at the end of the round, and had no rows. */
function listAdmits({ uses }: Round): AdmitOperation[] {
  return uses.flatMap(({ admits }) => admits)
}

function noChange({ settlements, writtenHolds, ...use }: UseLeaseOperation): UseLeaseOperation {
  const returned = { amount: 0n, byok: 0n }
  return { ...use, settlements, writtenHolds, admits: [], returned, isLast: false }
}
