import type { Batch, Batches, Statement } from '../db/batch.ts'
import { forEach } from '../db/statements.ts'
import { growingHex } from '../lib/ids.ts'
import { type Amounts, Book, type Refusal, type Wish } from './book.ts'
import type { WrittenDraft } from './draft.ts'
import { newMeter } from './meter.ts'
import {
  holdOf,
  insertEntries,
  insertGenerations,
  insertHolds,
  meterOf,
  meterValues,
  replaceMeters,
} from './tables.ts'

/** Asks for a hold. */
export interface Admit {
  op: 'admit'
  wish: Wish
  organizationId: string
  owner: string
  expiresAt: string
  /** What is known of the generation before it begins. */
  draft: WrittenDraft
  /** It was asked for before, and nobody knows whether it was done. */
  again?: boolean
}

/** Closes a hold. */
export interface Settle {
  op: 'settle'
  id: string
  organizationId: string
  isByok: boolean
  spent: Amounts
  /** As `generationValues` gives it; null when no provider was reached. */
  generation: readonly unknown[] | null
  /** Written in the same transaction. */
  companions: readonly Statement[]
  again?: boolean
}

/** Remembers how far a reply has come. */
export interface Note {
  op: 'note'
  id: string
  checkpoint: string
}

export type Op = Admit | Settle | Note

/** Why it was refused, or that the hold was closed before; null for everything that was done. */
export type Result = Refusal | 'closed before' | null

/** More meters than this are not kept in memory. */
const mostMeters = 100_000

/**
 * Carries out operations on the ledger, a batch in one transaction. With a database to itself it keeps the
 * book in memory; where others write too, it reads and locks what a batch touches.
 */
export class Engine {
  readonly #batches: Batches
  /** Others may write to the same database. */
  readonly #isPostgres: boolean
  #book = new Book()

  constructor(batches: Batches) {
    this.#batches = batches
    this.#isPostgres = batches.isPostgres
  }

  async run(ops: readonly Op[], now: string): Promise<Result[]> {
    if (this.#isPostgres || this.#book.meters.size > mostMeters) this.#book = new Book()
    const book = this.#book
    try {
      return await this.#batches.transact((batch) => new Round(batch, book, this.#isPostgres, now).run(ops))
    } catch (error) {
      // Nobody knows what of it is true: it is read again.
      this.#book = new Book()
      throw error
    }
  }

  close(): Promise<void> {
    return this.#batches.close()
  }
}

/** One transaction. */
class Round {
  readonly #batch: Batch
  readonly #book: Book
  readonly #isPostgres: boolean
  readonly #now: string
  readonly #touched = new Set<string>()
  readonly #settled: Settle[] = []
  readonly #admitted: Admit[] = []

  constructor(batch: Batch, book: Book, isPostgres: boolean, now: string) {
    this.#batch = batch
    this.#book = book
    this.#isPostgres = isPostgres
    this.#now = now
  }

  async run(ops: readonly Op[]): Promise<Result[]> {
    await this.#loadHolds(ops.flatMap(holdsOf))
    await this.#loadMeters(this.#subjectsOf(ops))
    const results = ops.map((op) => this.#apply(op))
    // A hold need only outlive this process: after a power cut there is no client that saw an end.
    await this.#batch.run(this.#statements(ops), this.#settled.length > 0)
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
    if (!hold) return 'closed before'
    this.#settled.push(op)
    for (const subject of hold.subjects) this.#touched.add(subject)
    return null
  }

  async #loadHolds(ids: string[]): Promise<void> {
    const missing = ids.filter((id) => !this.#book.holds.has(id)).sort()
    const select = `select id, subjects, day, amount_nanos, byok_nanos from holds where id in ($)${this.#lock('id')}`
    if (missing.length === 0) return
    for (const row of await this.#batch.rows(forEach(this.#isPostgres, select, missing))) {
      this.#book.holds.set(String(row.id), holdOf(row))
    }
  }

  #subjectsOf(ops: readonly Op[]): string[] {
    const lists = ops.map((op) => {
      if (op.op === 'admit') return op.wish.subjects
      return this.#book.holds.get(op.id)?.subjects ?? []
    })
    return [...new Set(lists.flat())]
  }

  /** In a fixed order, so that two nodes never wait for each other's rows crosswise. */
  async #loadMeters(subjects: string[]): Promise<void> {
    const { meters } = this.#book
    const missing = subjects.filter((subject) => !meters.has(subject)).sort()
    await this.#readMeters(missing)
    const unknown = missing.filter((subject) => !meters.has(subject))
    if (unknown.length === 0) return
    if (!this.#isPostgres) return unknown.forEach((subject) => void meters.set(subject, newMeter(subject)))
    // A row that is not there cannot be locked.
    const insert = 'insert into meters (subject) values ($1) on conflict do nothing'
    const added = unknown.map((subject) => ({ sql: insert, values: [subject] }))
    await this.#batch.run(added, false)
    await this.#readMeters(unknown)
  }

  async #readMeters(subjects: string[]): Promise<void> {
    const select = `select * from meters where subject in ($)${this.#lock('subject')}`
    if (subjects.length === 0) return
    for (const row of await this.#batch.rows(forEach(this.#isPostgres, select, subjects))) {
      this.#book.meters.set(String(row.subject), meterOf(row))
    }
  }

  #lock(column: string): string {
    return this.#isPostgres ? ` order by ${column} for update` : ''
  }

  #statements(ops: readonly Op[]): Statement[] {
    const isPostgres = this.#isPostgres
    const postings = this.#postings()
    const meters = [...this.#touched].sort().flatMap((subject) => this.#book.meters.get(subject) ?? [])
    return [
      ...insertHolds.of(isPostgres, this.#admitted.map(holdValues(this.#book))),
      ...forEach(
        isPostgres,
        'delete from holds where id in ($)',
        this.#settled.map(({ id }) => id),
      ),
      ...insertGenerations.of(isPostgres, this.#generations(postings)),
      ...insertEntries.of(isPostgres, this.#entries(postings)),
      ...replaceMeters.of(isPostgres, meters.map(meterValues)),
      ...ops.flatMap((op) => this.#notes(op)),
      ...this.#settled.flatMap(({ companions }) => companions),
    ]
  }

  #notes(op: Op): Statement[] {
    if (op.op !== 'note') return []
    const [checkpoint, id] = this.#isPostgres ? ['$1', '$2'] : ['?', '?']
    const sql = `update holds set checkpoint = ${checkpoint} where id = ${id}`
    return [{ sql, values: [op.checkpoint, op.id] }]
  }

  /** What was charged to each organization in this transaction is one posting. */
  #postings(): Map<string, Posting> {
    const postings = new Map<string, Posting>()
    for (const { organizationId, isByok, spent } of this.#settled) {
      if (spent.amount === 0n) continue
      const posting = postings.get(organizationId) ?? { id: `post-${growingHex()}`, revenue: 0n, fees: 0n }
      if (isByok) posting.fees += spent.amount
      else posting.revenue += spent.amount
      postings.set(organizationId, posting)
    }
    return postings
  }

  #generations(postings: Map<string, Posting>): unknown[][] {
    return this.#settled.flatMap(({ generation, organizationId, spent }) => {
      const posting = spent.amount === 0n ? undefined : postings.get(organizationId)
      return generation ? [[...generation, posting?.id ?? null, this.#now]] : []
    })
  }

  #entries(postings: Map<string, Posting>): unknown[][] {
    return [...postings].flatMap(([organization, { id, revenue, fees }]) => {
      const lines: [string, bigint][] = [
        ['credits', -revenue - fees],
        ['revenue', revenue],
        ['byok_fees', fees],
      ]
      const moved = lines.filter(([, amount]) => amount !== 0n)
      return moved.map(([account, amount]) => [
        id,
        organization,
        account,
        String(amount),
        'charge',
        this.#now,
      ])
    })
  }
}

/** The holds that must be known before an operation. */
function holdsOf(op: Op): string[] {
  if (op.op === 'settle') return [op.id]
  return op.op === 'admit' && op.again ? [op.wish.id] : []
}

interface Posting {
  id: string
  revenue: bigint
  fees: bigint
}

function holdValues(book: Book): (op: Admit) => unknown[] {
  return ({ wish, owner, expiresAt, draft }) => [
    wish.id,
    owner,
    wish.subjects.join(' '),
    String(wish.amount),
    String(wish.byok),
    book.holds.get(wish.id)?.day ?? wish.day,
    expiresAt,
    draft,
  ]
}
