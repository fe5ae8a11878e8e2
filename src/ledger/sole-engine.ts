import type { Logger } from 'pino'
import type { Row } from '../db/batch.ts'
import { type Clock, isoNow } from '../lib/clock.ts'
import { type Amounts, Book, type Wish } from './book.ts'
import {
  type Admit,
  type Engine,
  holdsOf,
  type Op,
  type Ran,
  type Result,
  type Settle,
  subjectsOf,
  UnreadableError,
  wishesOf,
} from './engine.ts'
import type { Refused } from './fold.ts'
import { FoldThread } from './fold-thread.ts'
import { Journal } from './journal.ts'
import {
  admitLine,
  isKnown,
  type Line,
  noteLine,
  partsOf,
  readSettled,
  readWish,
  settleLine,
} from './line.ts'
import { forgetOtherDays, newMeter } from './meter.ts'
import { JournalError } from './segment.ts'
import { changedDayRow, changedDayValues, holdOf, meterOf, meterValues } from './tables.ts'
import { type OtherDays, otherDaysFor, takeOtherDays } from './windows.ts'

/** How long the database may be behind: the longer, the less often a meter is written. */
const foldEveryMs = 250
const retryMs = 1000
/** How long a hold that must be read is waited for while the database does not follow. */
const behindMs = 100
/** An outage is told at its beginning, its end, and so often. */
const tellMs = 30_000
/** More meters than this are not kept in memory. */
const mostMeters = 100_000

const newerText =
  'The journal of the ledger was written by a newer version of Headgate: start that version once and stop it, then this one.'

/**
 * Alone with its SQLite database: the book stays in memory, what is done goes into a journal beside the
 * database, and the database follows on a thread of its own.
 */
export class SoleEngine implements Engine {
  #book = new Book()
  readonly #touched = new Set<string>()
  readonly #thread: FoldThread
  readonly #journal: Journal
  readonly #log: Logger
  #opening: Promise<void> | null = null
  #isOpen = false
  #timer: Timer | null = null
  #behindSince: number | null = null
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(path: string, clock: Clock, log: Logger) {
    this.#log = log
    this.#thread = new FoldThread(path)
    this.#journal = new Journal(path, {
      thread: this.#thread,
      takeMeters: () => this.#takeMeters(),
      now: () => isoNow(clock),
      refused: (refused) => this.#tellRefused(refused),
    })
  }

  get fullSince(): number | null {
    if (!this.#journal.isFull) return null
    return this.#behindSince ?? performance.now()
  }

  async open(): Promise<void> {
    this.#opening ??= this.#journal.takeUp((lines) => this.#replay(lines))
    try {
      await this.#opening
      this.#isOpen = true
    } catch (error) {
      this.#opening = null
      this.#book = new Book()
      this.#touched.clear()
      throw error
    }
  }

  async run(ops: readonly Op[]): Promise<Ran> {
    if (!this.#isOpen) await this.open()
    if (!this.#knows(ops)) await this.#loadFor(ops)
    this.#journal.prepare()
    const lines: Line[] = []
    const results = ops.map((op) => this.#apply(op, lines))
    this.#journal.append(lines)
    this.#timer ??= this.#later(foldEveryMs)
    const isSettled = ops.some(({ op }) => op === 'settle')
    return { results, lasting: isSettled ? this.#journal.sync() : null }
  }

  async keep(): Promise<void> {
    // What the journal cannot take, no other file of this disk can.
  }

  drop(): void {
    // Nothing is kept beside the journal.
  }

  caughtUp(): Promise<void> | null {
    return this.#journal.folded()
  }

  async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    // What does not come into the database now does with the next start.
    await this.caughtUp()?.catch((err: unknown) => this.#log.warn({ err }, 'the journal is left as it is'))
    await this.#journal.end().catch((err: unknown) => this.#log.warn({ err }, 'the journal is left open'))
    await this.#thread.close()
  }

  #apply(op: Op, lines: Line[]): Result {
    if (op.op === 'admit') return this.#admit(op, lines)
    if (op.op === 'settle') return this.#settle(op, lines)
    if (this.#book.holds.has(op.id)) lines.push(noteLine(op))
    return null
  }

  #admit(op: Admit, lines: Line[]): Result {
    const isNew = !this.#book.holds.has(op.wish.id)
    const refusal = this.#book.admit(op.wish)
    if (refusal || !isNew) return refusal
    this.#touch(op.wish.subjects)
    lines.push(admitLine(op))
    return null
  }

  #settle(op: Settle, lines: Line[]): Result {
    const hold = this.#book.settle(op.id, op.spent)
    if (!hold) return 'closed before'
    this.#touch(hold.subjects)
    lines.push(settleLine(op))
    return null
  }

  #touch(subjects: readonly string[]): void {
    for (const subject of subjects) this.#touched.add(subject)
  }

  /** What was done before is done again, in a book that knows nothing of it yet. */
  async #replay(lines: Line[]): Promise<void> {
    const parts = lines.map(partsOf)
    if (!parts.every(isKnown)) throw new JournalError(newerText)
    const wishes = parts.flatMap(({ kind, rest }) => (kind === 'admit' ? [readWish(rest)] : []))
    const placed = new Set(wishes.map(({ id }) => id))
    const ids = parts.flatMap(({ kind, id }) => (kind === 'settle' && !placed.has(id) ? [id] : []))
    await this.#loadHolds(ids)
    const held = ids.flatMap((id) => this.#book.holds.get(id)?.subjects ?? [])
    await this.#loadMeters([...wishes.flatMap(({ subjects }) => subjects), ...held])
    await this.#loadOtherDays(wishes)
    for (const { kind, id, rest } of parts) {
      if (kind === 'admit') this.#admitAgain(readWish(rest))
      else if (kind === 'settle') this.#settleAgain(id, readSettled(rest).spent)
    }
  }

  #admitAgain(wish: Wish): void {
    this.#book.admit(wish)
    this.#touch(wish.subjects)
  }

  #settleAgain(id: string, spent: Amounts): void {
    const hold = this.#book.settle(id, spent)
    if (!hold) throw new JournalError(`The journal settles ${id}, and the database knows nothing of it.`)
    this.#touch(hold.subjects)
  }

  /** Whether the book has all that the operations touch. */
  #knows(ops: readonly Op[]): boolean {
    const { holds, meters } = this.#book
    const isMetered = (subject: string) => meters.has(subject)
    const isOn = (subject: string, day: string) => meters.get(subject)?.day === day
    return (
      meters.size <= mostMeters &&
      ops.every((op) => {
        if (op.op === 'note') return true
        if (op.op === 'admit') return !op.again && op.wish.subjects.every((name) => isOn(name, op.wish.day))
        return holds.get(op.id)?.subjects.every(isMetered) ?? false
      })
    )
  }

  async #loadFor(ops: readonly Op[]): Promise<void> {
    if (this.#book.meters.size > mostMeters) this.#forgetMeters()
    const { holds, meters } = this.#book
    const unheld = ops.filter((op) => holdsOf(op).some((id) => !holds.has(id)))
    await this.#readFor(unheld, () => this.#loadSettledHolds(unheld.flatMap(holdsOf)))
    const unmetered = ops.filter((op) => subjectsOf(this.#book, [op]).some((subject) => !meters.has(subject)))
    await this.#readFor(unmetered, () => this.#loadMeters(subjectsOf(this.#book, unmetered)))
    const moving = ops.filter((op) => otherDaysFor(this.#book, wishesOf(op)))
    await this.#readFor(moving, () => this.#loadOtherDays(moving.flatMap(wishesOf)))
  }

  /** What cannot be read keeps nobody waiting but the operations that need it. */
  async #readFor(ops: readonly Op[], read: () => Promise<void>): Promise<void> {
    if (ops.length === 0) return
    await read().catch((cause: unknown) => {
      throw new UnreadableError(ops, cause)
    })
  }

  /** The database must have caught up first: it may have a hold that is settled already. */
  async #loadSettledHolds(ids: string[]): Promise<void> {
    const caughtUp = this.caughtUp()
    // While a lock is waited for, everybody else waits for this.
    await (this.#behindSince === null ? caughtUp : Promise.race([caughtUp, failLate()]))
    await this.#loadHolds(ids)
  }

  async #loadOtherDays(wishes: readonly Wish[]): Promise<void> {
    const wanted = otherDaysFor(this.#book, wishes)
    if (!wanted) return
    const select = 'select * from meter_days where subject = ? and day >= ? and day <= ?'
    const { subjects, from, to } = wanted
    const before = this.#journal.unfoldedDays
    const { folded, rows } = await this.#thread.snapshot(select, subjects, from, to)
    // A segment may have been closed, or have come into the database, while the rows were read.
    const unfolded = new Map([...before, ...this.#journal.unfoldedDays].filter(([number]) => number > folded))
    const changes = [...unfolded.values()].flat().map(changedDayRow)
    takeOtherDays(this.#book, wanted, [...rows, ...changes.filter((row) => isWanted(wanted, row))])
  }

  async #loadHolds(ids: string[]): Promise<void> {
    const select = 'select id, subjects, day, amount_nanos, byok_nanos from holds where id = ?'
    for (const row of await this.#thread.rows(select, ids)) this.#book.holds.set(String(row.id), holdOf(row))
  }

  async #loadMeters(subjects: readonly string[]): Promise<void> {
    const { meters } = this.#book
    const missing = subjects.filter((subject) => !meters.has(subject))
    if (missing.length === 0) return
    const unique = [...new Set(missing)]
    for (const row of await this.#thread.rows('select * from meters where subject = ?', unique)) {
      meters.set(String(row.subject), meterOf(row))
    }
    for (const subject of unique) if (!meters.has(subject)) meters.set(subject, newMeter(subject))
  }

  /** Those that the database has as they are. */
  #forgetMeters(): void {
    if (this.#journal.isFolding) return
    const { meters } = this.#book
    for (const subject of meters.keys()) if (!this.#touched.has(subject)) meters.delete(subject)
  }

  #takeMeters() {
    const touched = [...this.#touched].flatMap((subject) => this.#book.meters.get(subject) ?? [])
    this.#touched.clear()
    const taken = { meters: touched.map(meterValues), otherDays: touched.flatMap(changedDayValues) }
    for (const meter of touched) forgetOtherDays(meter)
    return taken
  }

  #later(ms: number): Timer {
    return setTimeout(() => void this.#fold(), ms).unref()
  }

  async #fold(): Promise<void> {
    this.#timer = null
    try {
      await this.caughtUp()
      if (this.#behindSince !== null) this.#log.warn('the database has caught up with the ledger')
      this.#behindSince = null
    } catch (err) {
      this.#tellBehind(err)
      this.#timer ??= this.#later(retryMs)
    }
  }

  #tellBehind(err: unknown): void {
    const now = performance.now()
    this.#behindSince ??= now
    if (now - this.#toldAt < tellMs) return
    this.#toldAt = now
    this.#log.error({ err }, 'the database does not take what the ledger has: it is kept in the journal')
  }

  #tellRefused({ id, what, message }: Refused): void {
    const text =
      what === 'record'
        ? 'the database refused a record: its charge is kept without it'
        : 'a charge is written without what goes along'
    this.#log.error({ id, err: { message } }, text)
  }
}

async function failLate(): Promise<never> {
  await Bun.sleep(behindMs)
  throw new Error('the database is behind the journal')
}

function isWanted({ from, to }: OtherDays, { day }: Row): boolean {
  return String(day) >= from && String(day) <= to
}
