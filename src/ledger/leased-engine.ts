import type { Logger } from 'pino'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type {
  AdmitOperation,
  BatchOutcome,
  LedgerEngine,
  LedgerOperation,
  OperationResult,
  Settlement,
} from './engine.ts'
import { encodeCheckpoint, type JournalLine } from './journal-line.ts'
import type { Lease } from './lease.ts'
import { LeaseBook } from './lease-book.ts'
import type { LeaseDatabase } from './lease-database.ts'
import { isLeasable, LeaseGrants } from './lease-grants.ts'
import { LeaseRecalls } from './lease-recalls.ts'
import { LeaseRounds } from './lease-rounds.ts'
import { LeaseTakeover } from './lease-takeover.ts'
import { type LeaseTime, processTime } from './lease-time.ts'
import { readLeftoverJournals } from './leftover-journals.ts'
import type { LeaseJournal } from './node-journal.ts'
import { SegmentEncoder } from './segment-encoder.ts'
import type { Spool } from './spool.ts'

/** Time by which the database may be behind. */
const roundMs = 250
/** Charges that are written together at most: encoding them holds the event loop. */
const roundSize = 32
const retryMs = 1000
/** Above this, no new work is accepted. */
const maxUnflushedBytes = 1024 * 1024 * 1024

export interface LeasedEngineOptions {
  database: LeaseDatabase
  journal: LeaseJournal
  spool: Spool
  nodeId: string
  clock: Clock
  log: Logger
  /** Whether charges are acknowledged before they are on disk. */
  isRelaxed: () => boolean
  time?: LeaseTime
}

/**
 * One of several nodes of a database. It reserves amounts in the meters of the keys that it serves, decides within these
 * leases by itself, and writes to the database four times a second. What no lease covers is decided by the database.
 */
export class LeasedEngine implements LedgerEngine {
  readonly #options: LeasedEngineOptions
  readonly #database: LeaseDatabase
  readonly #spool: Spool
  readonly #time: LeaseTime
  readonly #book: LeaseBook
  readonly #journal: LeaseJournal
  readonly #rounds: LeaseRounds
  readonly #grants: LeaseGrants
  readonly #recalls: LeaseRecalls
  readonly #takeover: LeaseTakeover
  #encoder = new SegmentEncoder({ hasMeters: true })
  #cancelTimer: (() => void) | null = null
  /** Charges since the last round. */
  #charges = 0
  #isClosing = false
  #endedNodes: readonly string[] = []

  constructor(options: LeasedEngineOptions) {
    const { database, journal, spool, nodeId, clock, log, time = processTime } = options
    this.#options = options
    this.#database = database
    this.#spool = spool
    this.#time = time
    this.#book = new LeaseBook(nodeId)
    this.#journal = journal
    this.#recalls = new LeaseRecalls(database, clock, time)
    this.#takeover = new LeaseTakeover(database, nodeId, time)
    this.#rounds = new LeaseRounds({
      database,
      book: this.#book,
      journal,
      nodeId,
      clock,
      log,
      time,
      onCut: () => {
        this.#encoder = new SegmentEncoder({ hasMeters: true })
        this.#charges = 0
      },
    })
    this.#grants = new LeaseGrants({
      database,
      book: this.#book,
      journal,
      rounds: this.#rounds,
      nodeId,
      time,
    })
  }

  get fullSince(): number | null {
    return this.#journal.unflushedBytes > maxUnflushedBytes
      ? (this.#rounds.failingSince ?? this.#time.now())
      : null
  }

  get unflushedBytes(): number {
    return this.#journal.unflushedBytes
  }

  get endedNodes(): readonly string[] {
    return this.#endedNodes
  }

  /** The leases of this node, and what they reserve beyond its holds. */
  get leases(): { count: number; free: bigint } {
    return { count: this.#book.size, free: this.#book.free }
  }

  /** Delivers what earlier processes with this data directory left, and ends their leases. */
  async open(deliver: (settlements: Settlement[]) => Promise<void>): Promise<void> {
    const { ids, settlements, interrupted } = await readLeftoverJournals(this.#journal, this.#database)
    await deliver([...this.#spool.readLeftovers(), ...settlements])
    if (ids.length > 0)
      this.#endedNodes = await this.#database.retire(ids, interrupted, isoNow(this.#options.clock))
    await this.#journal.removeLeftovers()
  }

  isLocal(op: LedgerOperation): boolean {
    return (op.op === 'settle' || op.op === 'note') && this.#book.hasHold(op.id)
  }

  admitNow(op: AdmitOperation): OperationResult | undefined {
    const lease = this.#admit(op)
    if (!lease) return undefined
    try {
      this.#journal.append([this.#encoder.encodeAdmit(op)])
    } catch (error) {
      this.#book.cancel(lease, op)
      throw error
    }
    return null
  }

  /** Holds the amount within a lease, if one covers it. */
  #admit(op: AdmitOperation): Lease | null {
    if (!isLeasable(op) || !this.#rounds.isTermValid) return null
    const lease = this.#book.admit(op, this.#time.now())
    if (lease) this.#schedule(this.#book.hasLow ? 0 : roundMs)
    return lease
  }

  run(ops: readonly LedgerOperation[], now: string): BatchOutcome | Promise<BatchOutcome> {
    const results: (OperationResult | undefined)[] = []
    const lines: JournalLine[] = []
    const touched = new Set<Lease>()
    let [isSettled, isShared, isComplete] = [false, false, true]
    for (const op of ops) {
      const result = this.#runLocally(op, lines, touched)
      results.push(result)
      if (result === undefined) isComplete = false
      else if (op.op === 'settle') {
        isSettled = true
        isShared ||= op.isShared === true
      }
    }
    const durable = this.#write(lines, { isSettled, isShared, touched })
    if (isComplete) return { results: results as OperationResult[], durable }
    return this.#runRest(ops, results, now).then((all) => ({ results: all, durable }))
  }

  /** Undefined if the database has to decide. */
  #runLocally(op: LedgerOperation, lines: JournalLine[], touched: Set<Lease>): OperationResult | undefined {
    if (op.op === 'settle') {
      const lease = this.#book.settle(op)
      if (!lease) return undefined
      touched.add(lease)
      this.#charges++
      lines.push(this.#encoder.encodeSettlement(op))
      return null
    }
    if (op.op === 'note') {
      if (!this.#book.hasHold(op.id)) return undefined
      this.#rounds.addCheckpoint(op)
      lines.push(encodeCheckpoint(op))
      return null
    }
    if (op.op !== 'admit') return undefined
    if (this.#book.hasHold(op.request.id)) return null
    if (op.isRetry || !this.#admit(op)) return undefined
    lines.push(this.#encoder.encodeAdmit(op))
    return null
  }

  /** Resolves when settlements may be acknowledged; null if they already may be. */
  #write(
    lines: readonly JournalLine[],
    { isSettled, isShared, touched }: { isSettled: boolean; isShared: boolean; touched: ReadonlySet<Lease> },
  ): Promise<void> | null {
    if (lines.length === 0) return null
    let isWritten = true
    try {
      this.#journal.append(lines)
    } catch {
      isWritten = false
    }
    this.#schedule(this.#journal.isSegmentFull || this.#charges >= roundSize ? 0 : roundMs)
    if (!isSettled) return null
    const { written } = this.#rounds
    if (isShared || !isWritten) return this.#writeSoon(written)
    return this.#options.isRelaxed() ? null : this.#awaitCover(touched, written)
  }

  /**
   * A settlement is acknowledged when it is in the journal, this node still has its leases, and what it spent stays
   * reserved until another node learns of it; or when it is in the database.
   */
  async #awaitCover(touched: ReadonlySet<Lease>, written: Promise<void>): Promise<void> {
    const isSynced = await this.#journal.sync().then(
      () => true,
      () => false,
    )
    const isCovered = this.#rounds.isTermValid && touched.values().every((lease) => lease.isCovered)
    if (!isSynced || !isCovered) await this.#writeSoon(written)
  }

  #writeSoon(written: Promise<void>): Promise<void> {
    this.#schedule(0)
    return written
  }

  async #runRest(
    ops: readonly LedgerOperation[],
    results: (OperationResult | undefined)[],
    now: string,
  ): Promise<OperationResult[]> {
    const rest = ops.filter((_, index) => results[index] === undefined)
    await this.#releaseToDatabase(rest)
    const decided = await this.#grants.run(rest, now)
    this.#spool.markDelivered(rest.filter((op) => op.op === 'settle'))
    this.#schedule(roundMs)
    let index = 0
    const all = results.map((result) => (result === undefined ? (decided[index++] ?? null) : result))
    return Promise.all(all.map((result) => this.#recallFor(result)))
  }

  /** An exchange of holds within leases is decided by the database, so their rows are written first. */
  async #releaseToDatabase(ops: readonly LedgerOperation[]): Promise<void> {
    const ids = ops.flatMap((op) => (op.op === 'exchange' ? op.releases : []))
    const leased = ids.filter((id) => this.#book.hasHold(id))
    if (leased.length === 0) return
    await this.flush()
    for (const id of leased) this.#book.release(id)
  }

  /** What leases reserve must not reject a request: they are returned, and it is decided again. */
  async #recallFor(result: OperationResult): Promise<OperationResult> {
    if (result === null || typeof result === 'string' || result.reason !== 'limit' || result.held === 0n)
      return result
    const isReturning = await this.#recalls.request(result.limit.subject)
    if (!isReturning) return result
    this.#book.review(this.#time.now(), new Set([result.limit.subject]))
    this.#schedule(0)
    return 'recalling'
  }

  /** Takes over the leases of dead nodes; returns how many nodes that were. */
  takeOverLeases(): Promise<number> {
    return this.#takeover.run(isoNow(this.#options.clock))
  }

  spool(settlements: readonly Settlement[]): Promise<void> {
    return this.#spool.write(settlements)
  }

  drop(settlement: Settlement): void {
    this.#spool.markRejected(settlement)
  }

  flush(): Promise<void> | null {
    return this.#rounds.flush()
  }

  /** Ends the leases; what cannot be written now is delivered by the next start. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#grants.isClosed = true
    this.#cancelTimer?.()
    this.#book.retireAll()
    await this.#rounds
      .close()
      .catch((err: unknown) =>
        this.#options.log.warn({ err }, 'the journal could not be flushed: the next start delivers it'),
      )
    await this.#database.close()
  }

  #schedule(ms: number): void {
    if (this.#isClosing) return
    if (this.#cancelTimer && ms > 0) return
    this.#cancelTimer?.()
    this.#cancelTimer = this.#time.setTimer(() => void this.#tick(), ms)
  }

  async #tick(): Promise<void> {
    this.#cancelTimer = null
    try {
      if (this.#book.size > 0) this.#book.review(this.#time.now(), await this.#recalls.read())
      await this.#rounds.flush()
      await this.#rounds.renew()
      if (this.#book.size > 0) this.#schedule(roundMs)
    } catch {
      // It was logged where it failed.
      this.#schedule(retryMs)
    }
  }
}
