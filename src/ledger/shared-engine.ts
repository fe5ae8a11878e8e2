import type { Batch, Batches, Statement } from '../db/batch.ts'
import { forEach } from '../db/statements.ts'
import { Book, type Wish } from './book.ts'
import { correctionStatements, differenceOf, findLate, type Late } from './correction.ts'
import {
  type Admit,
  type Engine,
  holdsOf,
  holdValues,
  type Op,
  type Ran,
  type Result,
  type Settle,
  subjectsOf,
  wishesOf,
} from './engine.ts'
import { entriesOf, type Postings, post } from './posting.ts'
import type { Spool } from './spool.ts'
import {
  addMeterDays,
  changedDayValues,
  holdOf,
  insertEntries,
  insertGenerations,
  insertHolds,
  insertUnrolled,
  meterOf,
  meterValues,
  replaceMeters,
} from './tables.ts'
import { otherDaysFor, takeOtherDays } from './windows.ts'

/** Where others write to the same database: every batch is a transaction that reads and locks what it touches. */
export class SharedEngine implements Engine {
  readonly fullSince = null
  readonly #batches: Batches
  readonly #spool: Spool

  constructor(batches: Batches, spool: Spool) {
    this.#batches = batches
    this.#spool = spool
  }

  async open(deliver: (settlements: Settle[]) => Promise<void>): Promise<void> {
    await deliver(this.#spool.readLeft())
  }

  async run(ops: readonly Op[], now: string): Promise<Ran> {
    const results = await this.#batches.transact((batch) => new Round(batch, now).run(ops))
    this.#spool.done(ops.filter((op) => op.op === 'settle'))
    return { results, lasting: null }
  }

  keep(settlements: readonly Settle[]): Promise<void> {
    return this.#spool.keep(settlements)
  }

  drop(settlement: Settle): void {
    this.#spool.refuse(settlement)
  }

  caughtUp(): null {
    return null
  }

  close(): Promise<void> {
    return this.#batches.close()
  }
}

/** One transaction. */
class Round {
  readonly #batch: Batch
  readonly #book = new Book()
  readonly #now: string
  readonly #touched = new Set<string>()
  readonly #settled: Settle[] = []
  #late = new Map<string, Late>()
  readonly #corrected: Late[] = []
  readonly #admitted: Admit[] = []

  constructor(batch: Batch, now: string) {
    this.#batch = batch
    this.#now = now
  }

  async run(ops: readonly Op[]): Promise<Result[]> {
    await this.#loadHolds(ops.flatMap(holdsOf))
    const unheld = ops.filter((op) => op.op === 'settle').filter(({ id }) => !this.#book.holds.has(id))
    this.#late = await findLate(this.#batch, unheld.filter(canBeLate), this.#now)
    await this.#loadMeters(subjectsOf(this.#book, ops))
    await this.#loadOtherDays(ops.flatMap(wishesOf))
    const results = ops.map((op) => this.#apply(op))
    await this.#batch.run(this.#statements(ops))
    return results
  }

  #apply(op: Op): Result {
    if (op.op === 'admit') return this.#admit(op)
    return op.op === 'settle' ? this.#settle(op) : null
  }

  #admit(op: Admit): Result {
    const isNew = !this.#book.holds.has(op.wish.id)
    const refusal = this.#book.admit(op.wish)
    if (!refusal && isNew) {
      this.#admitted.push(op)
      for (const subject of op.wish.subjects) this.#touched.add(subject)
    }
    return refusal
  }

  #settle(op: Settle): Result {
    const hold = this.#book.settle(op.id, op.spent)
    if (!hold) return this.#correct(op)
    this.#settled.push(op)
    for (const subject of hold.subjects) this.#touched.add(subject)
    return null
  }

  /** Another node took this one for dead, and settled in its place. */
  #correct({ id, countsIn }: Settle): Result {
    const late = this.#late.get(id)
    if (!late || !countsIn) return 'closed before'
    this.#late.delete(id)
    this.#book.correct(countsIn, differenceOf(late))
    for (const subject of countsIn.subjects) this.#touched.add(subject)
    if (late.recorded) this.#corrected.push(late)
    else this.#settled.push(late.op)
    return 'corrected'
  }

  async #loadHolds(ids: string[]): Promise<void> {
    const select =
      'select id, subjects, day, amount_nanos, byok_nanos from holds where id in ($) order by id for update'
    for (const row of await this.#batch.rows(forEach(select, ids.toSorted()))) {
      this.#book.holds.set(String(row.id), holdOf(row))
    }
  }

  /** In a fixed order, so that two nodes never wait for each other's rows crosswise. */
  async #loadMeters(subjects: string[]): Promise<void> {
    const sorted = subjects.toSorted()
    await this.#readMeters(sorted)
    const unknown = sorted.filter((subject) => !this.#book.meters.has(subject))
    if (unknown.length === 0) return
    // A row that is not there cannot be locked.
    const insert = 'insert into meters (subject) values ($1) on conflict do nothing'
    await this.#batch.run(unknown.map((subject) => ({ sql: insert, values: [subject] })))
    await this.#readMeters(unknown)
  }

  async #readMeters(subjects: string[]): Promise<void> {
    const select = 'select * from meters where subject in ($) order by subject for update'
    for (const row of await this.#batch.rows(forEach(select, subjects))) {
      this.#book.meters.set(String(row.subject), meterOf(row))
    }
  }

  async #loadOtherDays(wishes: Wish[]): Promise<void> {
    const wanted = otherDaysFor(this.#book, wishes)
    if (!wanted) return
    const select = 'select * from meter_days where subject in ($) and day >= $2 and day <= $3'
    const { subjects, from, to } = wanted
    takeOtherDays(this.#book, wanted, await this.#batch.rows(forEach(select, subjects, from, to)))
  }

  #statements(ops: readonly Op[]): Statement[] {
    const postings: Postings = new Map()
    const generations = this.#generations(postings)
    const corrections = this.#corrected.flatMap((late) =>
      late.recorded ? correctionStatements({ ...late, recorded: late.recorded }, postings, this.#now) : [],
    )
    const meters = [...this.#touched].sort().flatMap((subject) => this.#book.meters.get(subject) ?? [])
    return [
      ...insertHolds.of(this.#admitted.map(holdValues)),
      ...forEach(
        'delete from holds where id in ($)',
        this.#settled.map(({ id }) => id),
      ),
      ...insertGenerations.of(generations),
      ...insertUnrolled.of(this.#settled.flatMap(unrolledValues)),
      ...corrections,
      ...insertEntries.of(entriesOf(postings, this.#now)),
      ...replaceMeters.of(meters.map(meterValues)),
      ...addMeterDays.of(meters.flatMap(changedDayValues)),
      ...ops.flatMap(noteStatements),
      ...[...this.#settled, ...this.#corrected.map(({ op }) => op)].flatMap(({ companions }) => companions),
    ]
  }

  #generations(postings: Postings): unknown[][] {
    return this.#settled.flatMap(({ generation, organizationId, isByok, spent }) => {
      const posting = post(postings, organizationId, isByok, spent.amount)
      return generation ? [[...generation, posting, this.#now]] : []
    })
  }
}

function canBeLate({ generation, countsIn }: Settle): boolean {
  return generation !== null && countsIn !== null
}

function unrolledValues({ id, organizationId, generation }: Settle): string[][] {
  return generation ? [[id, organizationId]] : []
}

function noteStatements(op: Op): Statement[] {
  if (op.op !== 'note') return []
  return [{ sql: 'update holds set checkpoint = $1 where id = $2', values: [op.checkpoint, op.id] }]
}
