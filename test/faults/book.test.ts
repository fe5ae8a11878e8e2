import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Book, type Limit, type Wish } from '../../src/ledger/book.ts'
import { newMeter, startsOf, type Window, windowNames } from '../../src/ledger/meter.ts'
import { utcDay } from '../../src/lib/time.ts'
import { isLong, patienceMs, report } from './length.ts'

/** Each run is so many operations on one book. */
const operations = 500
const runs = isLong ? 2000 : 40

const subjectNames = ['organization', 'workspace', 'key', 'other key']
const firstDay = Date.parse('2027-12-29T00:00:00Z')
const dayMs = 86_400_000

interface Step {
  kind: 'admit' | 'settle' | 'settle again' | 'admit again'
  pick: number
  amount: number
  byok: number
  /** Of what was held. */
  share: number
  /** How many days the clock goes on; below zero, another node's clock is behind. */
  days: number
  subjects: number[]
}

const steps: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('admit', 'admit', 'admit', 'settle', 'settle', 'settle again', 'admit again'),
  pick: fc.nat(1_000_000),
  amount: fc.oneof(fc.constant(0), fc.nat(300)),
  byok: fc.oneof(fc.constant(0), fc.nat(300)),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  days: fc.oneof({ arbitrary: fc.constant(0), weight: 20 }, fc.integer({ min: -1, max: 3 })),
  subjects: fc.uniqueArray(fc.nat(subjectNames.length - 1), { minLength: 1, maxLength: 3 }),
})

const limits: fc.Arbitrary<Limit[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('key', 'workspace', 'guardrail'),
    subject: fc.constantFrom(...subjectNames),
    window: fc.constantFrom(...windowNames),
    includeByok: fc.boolean(),
    amount: fc.nat(5000).map(BigInt),
  }),
  { maxLength: 5 },
)

/** What was set aside and what came of it, as plain lists: everything a meter says can be counted from them. */
interface Record_ {
  id: string
  subjects: readonly string[]
  day: string
  held: { amount: bigint; byok: bigint } | null
  spent: { amount: bigint; byok: bigint }
}

/** The book under test beside a list that is added up anew. */
class Twin {
  readonly book = new Book()
  readonly records: Record_[] = []
  readonly #limits: Limit[]
  #time = firstDay
  admitted = 0
  refused = 0
  settled = 0

  constructor(amounts: Limit[]) {
    this.#limits = amounts
    for (const name of subjectNames) this.book.meters.set(name, newMeter(name))
  }

  take(step: Step): void {
    if (step.kind === 'admit') this.#admit(step)
    else if (step.kind === 'admit again') this.#admitAgain(step)
    else if (step.kind === 'settle') this.#settle(step)
    else this.#settleAgain(step)
  }

  #admit({ amount, byok, days, subjects }: Step): void {
    this.#time += Math.max(0, days) * dayMs
    const names = subjects.map((place) => subjectNames[place] as string)
    const wish: Wish = {
      id: `gen-${this.records.length}`,
      subjects: names,
      // One whose clock is behind.
      day: utcDay(this.#time + Math.min(0, days) * dayMs),
      limits: this.#limits.filter(({ subject }) => names.includes(subject)),
      free: null,
      amount: BigInt(amount),
      byok: BigInt(byok),
    }
    const before = this.#state()
    if (this.book.admit(wish)) {
      this.refused++
      expect(this.book.holds.has(wish.id)).toBe(false)
      expect(this.#totals()).toEqual(before)
      return
    }
    this.admitted++
    const day = this.book.holds.get(wish.id)?.day ?? ''
    expect(day >= wish.day).toBe(true)
    this.records.push({
      id: wish.id,
      subjects: names,
      day,
      held: { amount: wish.amount, byok: wish.byok },
      spent: { amount: 0n, byok: 0n },
    })
    this.#keepsLimits(wish)
  }

  #state() {
    return this.#totals()
  }

  #totals() {
    return [...this.book.meters.values()].map(({ spent, held }) => [spent.total, held.total])
  }

  /** I4. */
  #keepsLimits({ limits: checked, amount, byok }: Wish): void {
    for (const limit of checked) {
      if (amount + (limit.includeByok ? byok : 0n) === 0n) continue
      const used = this.#counted(limit.subject, limit.window, limit.includeByok)
      expect(used <= limit.amount).toBe(true)
    }
  }

  /** Posted and held in the window that the meter is in, added up from the beginning. */
  #counted(subject: string, window: Window, includeByok: boolean): bigint {
    const meter = this.book.meters.get(subject)
    let sum = 0n
    for (const record of this.records) {
      if (!record.subjects.includes(subject) || !isIn(record.day, meter?.day ?? '', window)) continue
      sum += record.spent.amount + (record.held?.amount ?? 0n)
      if (includeByok) sum += record.spent.byok + (record.held?.byok ?? 0n)
    }
    return sum
  }

  /** I3: asking for what is held changes nothing. */
  #admitAgain({ pick }: Step): void {
    const record = this.records[pick % Math.max(1, this.records.length)]
    if (!record?.held) return
    const before = this.#totals()
    const wish = {
      id: record.id,
      subjects: record.subjects,
      day: record.day,
      limits: [],
      free: null,
      ...record.held,
    }
    expect(this.book.admit(wish)).toBeNull()
    expect(this.#totals()).toEqual(before)
  }

  #settle({ pick, share }: Step): void {
    const open = this.records.filter(({ held }) => held !== null)
    const record = open[pick % Math.max(1, open.length)]
    if (!record?.held) return
    const part = (amount: bigint) => BigInt(Math.floor(Number(amount) * share))
    record.spent = { amount: part(record.held.amount), byok: part(record.held.byok) }
    record.held = null
    expect(this.book.settle(record.id, record.spent)?.id).toBe(record.id)
    this.settled++
  }

  /** I3: what is settled stays as it is. */
  #settleAgain({ pick }: Step): void {
    const closed = this.records.filter(({ held }) => held === null)
    const record = closed[pick % Math.max(1, closed.length)]
    if (!record) return
    const before = this.#totals()
    expect(this.book.settle(record.id, { amount: 7n, byok: 7n })).toBeNull()
    expect(this.#totals()).toEqual(before)
  }

  /** Every sum of every meter is what the list adds up to; nothing is below zero. */
  agrees(): void {
    for (const [subject, meter] of this.book.meters) {
      for (const window of windowNames) {
        const mine = this.records.filter(
          (row) => row.subjects.includes(subject) && isIn(row.day, meter.day, window),
        )
        const sum = (of: (row: Record_) => bigint) => mine.reduce((total, row) => total + of(row), 0n)
        expect([meter.spent[window], meter.byok[window], meter.held[window], meter.heldByok[window]]).toEqual(
          [
            sum(({ spent }) => spent.amount),
            sum(({ spent }) => spent.byok),
            sum(({ held }) => held?.amount ?? 0n),
            sum(({ held }) => held?.byok ?? 0n),
          ],
        )
      }
    }
    expect(this.book.holds.size).toBe(this.records.filter(({ held }) => held !== null).length)
  }
}

function isIn(day: string, today: string, window: Window): boolean {
  if (window === 'total' || day === today) return true
  if (today === '' || window === 'day') return false
  return startsOf(day)[window] === startsOf(today)[window]
}

test(
  'R2 R13 I3 I4 any order of holds and settlements, over days and clocks that differ',
  () => {
    const sums = { operations: 0, admitted: 0, refused: 0, settled: 0 }
    const size = { minLength: operations, maxLength: operations }
    fc.assert(
      fc.property(limits, fc.array(steps, size), (amounts, taken) => {
        const twin = new Twin(amounts)
        taken.forEach((step, place) => {
          twin.take(step)
          if (place % 50 === 0) twin.agrees()
        })
        twin.agrees()
        sums.operations += taken.length
        sums.admitted += twin.admitted
        sums.refused += twin.refused
        sums.settled += twin.settled
      }),
      { numRuns: runs, seed: 20_270_228, endOnFailure: true },
    )
    // A run that refuses nothing, or everything, proves nothing.
    expect(sums.refused).toBeGreaterThan(sums.operations / 50)
    expect(sums.settled).toBeGreaterThan(sums.operations / 50)
    report('the book', sums)
  },
  patienceMs,
)
