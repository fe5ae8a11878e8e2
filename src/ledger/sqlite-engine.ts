import type { Logger } from 'pino'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import {
  type AdmitOperation,
  type BatchOutcome,
  collectSubjects,
  type ExchangeOperation,
  holdIdsOf,
  holdRequestsOf,
  type LedgerEngine,
  type LedgerOperation,
  type OperationResult,
  type Settlement,
  UnreadableRowsError,
} from './engine.ts'
import { FlushLog } from './flush-log.ts'
import { FlushThread } from './flush-thread.ts'
import { Journal } from './journal.ts'
import { encodeCheckpoint, type JournalLine, splitLine } from './journal-line.ts'
import { JournalError } from './journal-segment.ts'
import { type HoldRequest, LedgerState } from './ledger-state.ts'
import { clearOtherDays } from './meter.ts'
import { applyOtherDays, isInRange, planDayLookup } from './meter-days.ts'
import { decodeOperations, type ReplayedSettlement } from './segment-decoder.ts'
import { SegmentEncoder } from './segment-encoder.ts'
import { createRelease } from './settlement.ts'
import { loadHolds, loadMeters } from './sqlite-rows.ts'
import { encodeChangedDays, encodeMeter, toMeterDayRow } from './tables.ts'

/** Time by which the database may be behind: the longer, the less often a meter is written. */
const flushIntervalMs = 250
const flushRetryMs = 1000
/** Maximum wait for a hold that must be read while the database is behind. */
const flushWaitMs = 100
/** Maximum time between the acknowledgment of a charge and its sync, where the operator allows a delay. */
const relaxedSyncMs = 100
/** Number of meters above which unused ones leave memory. */
const maxMeters = 100_000

/**
 * The only writer of its SQLite database: the ledger state stays in memory, operations go into a journal next
 * to the database, and a thread of its own flushes the journal into the database.
 */
export class SqliteEngine implements LedgerEngine {
  #state = new LedgerState()
  readonly #touched = new Set<string>()
  /** Encoder of the segment that is being written. */
  #encoder = new SegmentEncoder()
  readonly #thread: FlushThread
  readonly #journal: Journal
  readonly #clock: Clock
  readonly #log: Logger
  #opening: Promise<void> | null = null
  #isOpen = false
  /** Batches that wait for rows: a hold that is decided meanwhile could count in totals that are being replaced. */
  #loads = 0
  #timer: Timer | null = null
  readonly #isRelaxed: () => boolean
  readonly #flushLog: FlushLog

  /** `isRelaxed`: charges are acknowledged before they are synced. */
  constructor(path: string, clock: Clock, log: Logger, isRelaxed: () => boolean = () => false) {
    this.#clock = clock
    this.#log = log
    this.#isRelaxed = isRelaxed
    this.#flushLog = new FlushLog(log)
    this.#thread = new FlushThread(path)
    this.#journal = new Journal(path, {
      thread: this.#thread,
      collectMeters: () => this.#collectMeters(),
      now: () => isoNow(clock),
      onRejected: (rejected) => this.#flushLog.logRejected(rejected),
      onSyncError: (err) => log.error({ err }, 'acknowledged charges could not be synced'),
    })
  }

  get fullSince(): number | null {
    if (!this.#journal.isFull) return null
    return this.#flushLog.since ?? performance.now()
  }

  get unflushedBytes(): number {
    return this.#journal.unflushedBytes
  }

  async open(): Promise<void> {
    this.#opening ??= this.#journal.recover((lines) => this.#replay(lines))
    try {
      await this.#opening
      this.#isOpen = true
    } catch (error) {
      this.#opening = null
      this.#state = new LedgerState()
      this.#touched.clear()
      throw error
    }
  }

  admitNow(op: AdmitOperation): OperationResult | undefined {
    if (!this.#isOpen || this.#loads > 0 || !this.#hasLoaded(op)) return undefined
    this.#journal.prepare()
    const lines: JournalLine[] = []
    const result = this.#admit(op, lines)
    if (lines.length > 0) this.#append(lines)
    return result
  }

  run(ops: readonly LedgerOperation[]): BatchOutcome | Promise<BatchOutcome> {
    for (const op of ops) if (!this.#isOpen || !this.#hasLoaded(op)) return this.#loadAndApply(ops)
    return this.#apply(ops)
  }

  async #loadAndApply(ops: readonly LedgerOperation[]): Promise<BatchOutcome> {
    if (!this.#isOpen) await this.open()
    this.#loads++
    try {
      await this.#loadMissing(ops)
      return this.#apply(ops)
    } finally {
      this.#loads--
    }
  }

  #apply(ops: readonly LedgerOperation[]): BatchOutcome {
    this.#journal.prepare()
    const lines: JournalLine[] = []
    const results: OperationResult[] = []
    let isSettled = false
    for (const op of ops) {
      results.push(this.#applyOne(op, lines))
      if (op.op === 'settle') isSettled = true
    }
    this.#append(lines)
    return { results, durable: isSettled ? this.#sync() : null }
  }

  #sync(): Promise<void> | null {
    if (!this.#isRelaxed()) return this.#journal.sync()
    this.#journal.syncWithin(relaxedSyncMs)
    return null
  }

  #append(lines: readonly JournalLine[]): void {
    this.#journal.append(lines)
    this.#timer ??= this.#scheduleFlush(flushIntervalMs)
  }

  async spool(): Promise<void> {
    // When the journal cannot be written, no other file of this disk can.
  }

  drop(): void {
    // Nothing is stored outside the journal.
  }

  flush(): Promise<void> | null {
    return this.#journal.flush()
  }

  async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    // What cannot be flushed now is flushed after the next start.
    await this.flush()?.catch((err: unknown) =>
      this.#log.warn({ err }, 'the journal could not be flushed: the next start flushes it'),
    )
    await this.#journal
      .close()
      .catch((err: unknown) =>
        this.#log.warn({ err }, 'the journal could not be closed: the next start recovers it'),
      )
    await this.#thread.close()
  }

  #applyOne(op: LedgerOperation, lines: JournalLine[]): OperationResult {
    if (op.op === 'admit') return this.#admit(op, lines)
    if (op.op === 'exchange') return this.#exchange(op, lines)
    if (op.op === 'settle') return this.#settle(op, lines)
    if (this.#state.holds.has(op.id)) lines.push(encodeCheckpoint(op))
    return null
  }

  #admit(op: AdmitOperation, lines: JournalLine[]): OperationResult {
    const isNew = !this.#state.holds.has(op.request.id)
    const rejection = this.#state.admit(op.request)
    if (rejection || !isNew) return rejection
    this.#touch(op.request.subjects)
    lines.push(this.#encoder.encodeAdmit(op))
    return null
  }

  #exchange({ releases, admits }: ExchangeOperation, lines: JournalLine[]): OperationResult {
    const requests = admits.map(({ request }) => request)
    const { rejection, isChanged, released } = this.#state.exchange(releases, requests)
    if (!isChanged) return rejection
    for (const { subjects } of [...released, ...requests]) this.#touch(subjects)
    for (const { id } of released) lines.push(this.#encoder.encodeSettlement(createRelease(id, '')))
    for (const op of admits) lines.push(this.#encoder.encodeAdmit(op))
    return null
  }

  #settle(op: Settlement, lines: JournalLine[]): OperationResult {
    const hold = this.#state.settle(op.id, op.spent, op.uncharged)
    if (!hold) return 'closed before'
    this.#touch(hold.subjects)
    lines.push(this.#encoder.encodeSettlement(op))
    return null
  }

  #touch(subjects: readonly string[]): void {
    for (const subject of subjects) this.#touched.add(subject)
  }

  /** Repeats what was done before, on a state that does not include it yet. */
  async #replay(lines: JournalLine[]): Promise<void> {
    const operations = decodeOperations(lines.map(splitLine))
    const requests = operations.filter((op) => 'subjects' in op)
    const placed = new Set(requests.map(({ id }) => id))
    const ids = operations.flatMap((op) => ('spent' in op && !placed.has(op.id) ? [op.id] : []))
    await loadHolds(this.#thread, this.#state, ids)
    const held = ids.flatMap((id) => this.#state.holds.get(id)?.subjects ?? [])
    await loadMeters(this.#thread, this.#state, [...requests.flatMap(({ subjects }) => subjects), ...held])
    await this.#loadOtherDays(requests)
    for (const op of operations) {
      if ('spent' in op) this.#replaySettlement(op)
      else {
        this.#state.admit(op)
        this.#touch(op.subjects)
      }
    }
  }

  #replaySettlement({ id, spent, uncharged }: ReplayedSettlement): void {
    const hold = this.#state.settle(id, spent, uncharged)
    if (!hold)
      throw new JournalError(
        `The journal settles ${id}, but neither the journal nor the database has its hold.`,
      )
    this.#touch(hold.subjects)
  }

  /** Whether the state has everything that the operation touches. */
  #hasLoaded(op: LedgerOperation): boolean {
    if (this.#state.meters.size > maxMeters) return false
    if (op.op === 'note') return true
    if (op.op === 'admit') return !op.isRetry && this.#hasMeters(op.request.subjects, op.request.day)
    if (op.op === 'exchange' && (op.isRetry || !op.releases.every((id) => this.#hasHold(id)))) return false
    if (op.op === 'exchange') return op.admits.every((admission) => this.#hasLoaded(admission))
    return this.#hasHold(op.id)
  }

  #hasHold(id: string): boolean {
    const hold = this.#state.holds.get(id)
    return hold !== undefined && this.#hasMeters(hold.subjects)
  }

  /** Whether the meters are in memory and, where a day is given, at that day. */
  #hasMeters(subjects: readonly string[], day?: string): boolean {
    for (const subject of subjects) {
      const meter = this.#state.meters.get(subject)
      if (!meter || (day !== undefined && meter.day !== day)) return false
    }
    return true
  }

  async #loadMissing(ops: readonly LedgerOperation[]): Promise<void> {
    if (this.#state.meters.size > maxMeters) this.#evictMeters()
    const { holds, meters } = this.#state
    const unheld = ops.filter((op) => holdIdsOf(op).some((id) => !holds.has(id)))
    await this.#readOrDefer(unheld, () => this.#loadHoldsAfterFlush(unheld.flatMap(holdIdsOf)))
    const unmetered = ops.filter((op) =>
      collectSubjects(this.#state, [op]).some((subject) => !meters.has(subject)),
    )
    await this.#readOrDefer(unmetered, () =>
      loadMeters(this.#thread, this.#state, collectSubjects(this.#state, unmetered)),
    )
    const moving = ops.filter((op) => planDayLookup(this.#state, holdRequestsOf(op)))
    await this.#readOrDefer(moving, () => this.#loadOtherDays(moving.flatMap(holdRequestsOf)))
  }

  /** Rows that cannot be read delay only the operations that need them. */
  async #readOrDefer(ops: readonly LedgerOperation[], read: () => Promise<void>): Promise<void> {
    if (ops.length === 0) return
    await read().catch((cause: unknown) => {
      throw new UnreadableRowsError(ops, cause)
    })
  }

  /** The database must have caught up first: it may have a hold that is settled already. */
  async #loadHoldsAfterFlush(ids: string[]): Promise<void> {
    const flushed = this.flush()
    // While this waits for a lock, every other operation waits for it.
    await (this.#flushLog.since === null ? flushed : Promise.race([flushed, rejectAfterTimeout()]))
    await loadHolds(this.#thread, this.#state, ids)
  }

  async #loadOtherDays(requests: readonly HoldRequest[]): Promise<void> {
    const lookup = planDayLookup(this.#state, requests)
    if (!lookup) return
    const select = 'select * from meter_days where subject = ? and day >= ? and day <= ?'
    const { subjects, from, to } = lookup
    const unflushedBefore = this.#journal.unflushedDays
    const { flushedNumber, rows } = await this.#thread.snapshot(select, subjects, from, to)
    // A segment may have been closed or flushed while the rows were read.
    const unflushed = new Map(
      [...unflushedBefore, ...this.#journal.unflushedDays].filter(([number]) => number > flushedNumber),
    )
    const changes = [...unflushed.values()].flat().map(toMeterDayRow)
    applyOtherDays(this.#state, lookup, [...rows, ...changes.filter((row) => isInRange(lookup, row))])
  }

  /** Meters that are in the database unchanged. */
  #evictMeters(): void {
    if (this.#journal.isFlushing) return
    const { meters } = this.#state
    for (const subject of meters.keys()) if (!this.#touched.has(subject)) meters.delete(subject)
  }

  #collectMeters() {
    const touched = [...this.#touched].flatMap((subject) => this.#state.meters.get(subject) ?? [])
    this.#touched.clear()
    this.#encoder = new SegmentEncoder()
    const now = isoNow(this.#clock)
    const meters = touched.map((meter) => encodeMeter(meter, now))
    const collected = { meters, otherDays: touched.flatMap(encodeChangedDays) }
    for (const meter of touched) clearOtherDays(meter)
    return collected
  }

  #scheduleFlush(ms: number): Timer {
    return setTimeout(() => void this.#runFlush(), ms).unref()
  }

  async #runFlush(): Promise<void> {
    this.#timer = null
    try {
      await this.flush()
      this.#flushLog.end()
    } catch (err) {
      this.#flushLog.begin(err)
      this.#timer ??= this.#scheduleFlush(flushRetryMs)
    }
  }
}

async function rejectAfterTimeout(): Promise<never> {
  await Bun.sleep(flushWaitMs)
  throw new Error('the database is behind the journal')
}
