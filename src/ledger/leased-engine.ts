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
import { findRecallable, LeaseRecalls, type RecallChannel } from './lease-recalls.ts'
import { LeaseRounds } from './lease-rounds.ts'
import { LeaseTakeover } from './lease-takeover.ts'
import { type LeaseTime, processTime } from './lease-time.ts'
import { readLeftoverJournals } from './leftover-journals.ts'
import { LocalBatch } from './local-batch.ts'
import type { LeaseJournal } from './node-journal.ts'
import { RoundTimer } from './round-timer.ts'
import { SegmentEncoder } from './segment-encoder.ts'
import type { Spool } from './spool.ts'

/** Time by which the database may be behind. */
const roundMs = 250
/** Charges that are written together at most: encoding them holds the event loop. */
const roundSize = 32
/** Charges of one round at most, whatever its predecessor takes. */
const maxRoundCharges = 256
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
  /** Without it, other nodes notice recalls when they next look at the database. */
  recallChannel?: RecallChannel
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
  readonly #timer: RoundTimer
  /** Charges since the last round. */
  #charges = 0
  endedNodes: readonly string[] = []

  constructor(options: LeasedEngineOptions) {
    const { database, journal, spool, nodeId, clock, log, time = processTime, recallChannel = null } = options
    this.#options = options
    this.#database = database
    this.#spool = spool
    this.#time = time
    this.#timer = new RoundTimer(time, () => this.#tick())
    this.#book = new LeaseBook(nodeId)
    this.#journal = journal
    this.#recalls = new LeaseRecalls(database, recallChannel, time)
    recallChannel?.subscribe((subjects) => this.#returnLeases(new Set(subjects)))
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
      onRejected: async (settlement) => {
        await spool.write([settlement])
        spool.markRejected(settlement)
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

  /** The leases of this node, and what they reserve beyond its holds. */
  get leases(): { count: number; free: bigint } {
    return { count: this.#book.size, free: this.#book.free }
  }

  /** Delivers what earlier processes with this data directory left, and ends their leases. */
  async open(deliver: (settlements: Settlement[]) => Promise<void>): Promise<void> {
    const { ids, settlements, interrupted } = await readLeftoverJournals(this.#journal, this.#database)
    await deliver([...this.#spool.readLeftovers(), ...settlements])
    if (ids.length > 0)
      this.endedNodes = await this.#database.retire(ids, interrupted, isoNow(this.#options.clock))
    await this.#journal.removeLeftovers()
  }

  isLocal(op: LedgerOperation): boolean {
    return (op.op === 'settle' || op.op === 'note') && this.#book.hasHold(op.id)
  }

  admitNow(op: AdmitOperation): OperationResult | undefined {
    if (!isLeasable(op) || this.#book.size === 0) return undefined
    this.#journal.prepare()
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
    if (lease) this.#timer.schedule(this.#book.hasLow ? 0 : roundMs)
    return lease
  }

  run(ops: readonly LedgerOperation[], now: string): BatchOutcome | Promise<BatchOutcome> {
    const batch = new LocalBatch(this.#prepareLines())
    for (const op of ops) batch.results.push(this.#runLocally(op, batch))
    const durable = this.#write(batch)
    if (batch.isComplete && !batch.needsRows) return { results: batch.results as OperationResult[], durable }
    return this.#runRest(ops, batch, now).then((results) => ({ results, durable }))
  }

  #runLocally(op: LedgerOperation, batch: LocalBatch): OperationResult | undefined {
    if (op.op === 'settle') return this.#settle(op, batch)
    if (op.op === 'note') {
      if (this.#rounds.findWriting(op.id)) return null
      if (!this.#book.hasHold(op.id)) return undefined
      this.#rounds.addCheckpoint(op)
      batch.lines?.push(encodeCheckpoint(op))
      return null
    }
    if (op.op !== 'admit') return undefined
    if (this.#book.hasHold(op.request.id)) {
      // It may be in no journal.
      batch.needsRows = true
      return null
    }
    if (!batch.lines || op.isRetry || !this.#admit(op)) return undefined
    batch.isAdmitted = true
    batch.lines.push(this.#encoder.encodeAdmit(op))
    return null
  }

  #settle(op: Settlement, batch: LocalBatch): null | undefined {
    const writing = this.#rounds.findWriting(op.id)
    if (writing) {
      batch.repeated.push(writing)
      return null
    }
    const lease = this.#book.settle(op)
    if (!lease) return undefined
    batch.touched.add(lease)
    batch.isShared ||= op.isShared === true
    this.#charges++
    this.#rounds.addSettlement(op.id)
    batch.lines?.push(this.#encoder.encodeSettlement(op))
    return null
  }

  /** Resolves when settlements may be acknowledged; null if they already may be. */
  #write(batch: LocalBatch): Promise<void> | null {
    const { lines, touched, repeated } = batch
    const repeatedly = repeated.length > 0 ? this.#writeSoon(Promise.all(repeated)) : null
    if (lines?.length === 0) return repeatedly
    const { written } = this.#rounds
    const isWritten = lines !== null && attempt(() => this.#journal.append(lines))
    batch.needsRows ||= batch.isAdmitted && !isWritten
    // One round must not hold the event loop for long.
    if (this.#charges >= maxRoundCharges) this.#rounds.cut()
    this.#timer.schedule(this.#journal.isSegmentFull || this.#charges >= roundSize ? 0 : roundMs)
    if (touched.size === 0) return repeatedly
    if (repeatedly || batch.isShared || !isWritten) return this.#writeSoon(written)
    return this.#options.isRelaxed() ? null : this.#awaitCover(touched, written)
  }

  /** Null if there can be no journal now: then nothing is encoded, because later lines refer to earlier ones. */
  #prepareLines(): JournalLine[] | null {
    return this.#book.size === 0 || attempt(() => this.#journal.prepare()) ? [] : null
  }

  /**
   * A settlement is acknowledged when it is in the journal, this node still has its leases, and what it spent stays
   * reserved until another node learns of it; or when it is in the database.
   */
  async #awaitCover(touched: ReadonlySet<Lease>, written: Promise<void>): Promise<void> {
    let isWritten = false
    const writing = written.then(() => {
      isWritten = true
    })
    const isSynced = await Promise.race([
      writing,
      this.#journal.sync().then(
        () => true,
        () => false,
      ),
    ])
    if (isWritten) return
    const isCovered = this.#rounds.isTermValid && touched.values().every((lease) => lease.isCovered)
    if (!isSynced || !isCovered) await this.#writeSoon(written)
  }

  #writeSoon(written: Promise<unknown>): Promise<void> {
    this.#timer.schedule(0)
    return written.then(() => undefined)
  }

  async #runRest(
    ops: readonly LedgerOperation[],
    { results, needsRows }: LocalBatch,
    now: string,
  ): Promise<OperationResult[]> {
    const rest = ops.filter((_, index) => results[index] === undefined)
    if (needsRows) await this.flush()
    if (rest.length === 0) return results as OperationResult[]
    await this.#writeRows(rest)
    // Also after a failure: leases may have been granted that have to be released.
    const decided = await this.#grants.run(rest, now).finally(() => this.#timer.schedule(roundMs))
    this.#spool.markDelivered(rest.filter((op) => op.op === 'settle'))
    return this.#recallFor(
      results.map((result) => (result === undefined ? (decided.shift() ?? null) : result)),
    )
  }

  /** What the database decides about holds within leases, or within lost ones, needs their rows. */
  async #writeRows(ops: readonly LedgerOperation[]): Promise<void> {
    const ids = ops.flatMap((op) => (op.op === 'exchange' ? op.releases : op.op === 'admit' ? [] : [op.id]))
    const leased = ids.filter((id) => this.#book.hasHold(id))
    if (leased.length === 0 && !this.#rounds.hasLost(ids)) return
    await this.flush()
    for (const id of leased) this.#book.release(id)
  }

  /** What leases reserve must not reject a request: they are returned, and it is decided again. */
  async #recallFor(results: readonly OperationResult[]): Promise<OperationResult[]> {
    const subjects = new Set(results.flatMap((result) => findRecallable(result) ?? []))
    if (subjects.size === 0) return [...results]
    // What was decided is committed: it stays decided if the leases cannot be looked up.
    const returning = await this.#recalls.request(subjects).catch((err: unknown) => {
      this.#options.log.warn({ err }, 'leases could not be recalled')
      return new Set<string>()
    })
    this.#returnLeases(returning)
    return results.map((result) => (returning.has(findRecallable(result) ?? '') ? 'recalling' : result))
  }

  #returnLeases(subjects: ReadonlySet<string>): void {
    if (subjects.size === 0 || this.#book.size === 0) return
    this.#book.review(this.#time.now(), subjects)
    this.#timer.schedule(0)
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
    this.#grants.isClosed = true
    this.#timer.stop()
    this.#book.retireAll()
    await this.#rounds
      .close()
      .catch((err: unknown) =>
        this.#options.log.warn({ err }, 'the journal could not be flushed: the next start delivers it'),
      )
    await this.#database.close()
  }

  /** Returns the time until the next tick; null if nothing needs one. */
  async #tick(): Promise<number | null> {
    try {
      if (this.#book.size > 0) this.#book.review(this.#time.now(), await this.#recalls.read())
      await this.#rounds.flush()
      await this.#rounds.renew()
      return this.#book.size > 0 ? roundMs : null
    } catch {
      // It was logged where it failed.
      return retryMs
    }
  }
}

function attempt(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
