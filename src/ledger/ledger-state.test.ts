import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { isLong, printTotals, testTimeoutMs } from '../../test/faults/options.ts'
import { utcDay } from '../platform/time/time.ts'
import { type HoldRequest, LedgerState, type Limit } from './ledger-state.ts'
import {
  clearOtherDays,
  type DayTotals,
  newMeter,
  type Window,
  windowNames,
  windowStartsOf,
} from './meter.ts'
import { applyOtherDays, planDayLookup } from './meter-days.ts'
import { encodeChangedDays } from './tables.ts'

/** Each run is so many operations on one ledger state. */
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
  /** Share of the hold that is settled. */
  share: number
  /** Days that the clock steps, forward or back. */
  days: number
  /** Changed days are written, and looked up when needed again. */
  isWritten: boolean
  subjects: number[]
}

const steps: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('admit', 'admit', 'admit', 'settle', 'settle', 'settle again', 'admit again'),
  pick: fc.nat(1_000_000),
  amount: fc.oneof(fc.constant(0), fc.nat(300)),
  byok: fc.oneof(fc.constant(0), fc.nat(300)),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  days: fc.oneof(
    { arbitrary: fc.constant(0), weight: 20 },
    { arbitrary: fc.integer({ min: -3, max: 4 }), weight: 4 },
    fc.constantFrom(-366, -31, 31, 366),
  ),
  isWritten: fc.boolean(),
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

/** Holds and settlements as plain lists: every total of a meter can be computed from them. */
interface Record_ {
  id: string
  subjects: readonly string[]
  day: string
  held: { amount: bigint; byok: bigint } | null
  spent: { amount: bigint; byok: bigint }
}

/** The state under test, and a list from which every total is recomputed. */
class Twin {
  readonly state = new LedgerState()
  readonly records: Record_[] = []
  readonly #limits: Limit[]
  #time = firstDay
  admitted = 0
  refused = 0
  settled = 0

  constructor(amounts: Limit[]) {
    this.#limits = amounts
    for (const name of subjectNames) this.state.meters.set(name, newMeter(name))
  }

  /** The rows of `meter_days`. */
  readonly #written = new Map<string, Map<string, DayTotals>>()

  take(step: Step): void {
    if (step.isWritten) this.#write()
    if (step.kind === 'admit') this.#admit(step)
    else if (step.kind === 'admit again') this.#admitAgain(step)
    else if (step.kind === 'settle') this.#settle(step)
    else this.#settleAgain(step)
  }

  #write(): void {
    for (const meter of this.state.meters.values()) {
      const days = this.#written.get(meter.subject) ?? new Map<string, DayTotals>()
      for (const [, day, ...sums] of encodeChangedDays(meter)) {
        const known = days.get(String(day)) ?? { spent: 0n, byok: 0n, held: 0n, heldByok: 0n, free: 0 }
        const [spent = 0n, byok = 0n, held = 0n, heldByok = 0n] = sums
          .slice(0, 4)
          .map((sum) => BigInt(String(sum)))
        days.set(String(day), {
          spent: known.spent + spent,
          byok: known.byok + byok,
          held: known.held + held,
          heldByok: known.heldByok + heldByok,
          free: known.free + Number(sums[4]),
        })
      }
      this.#written.set(meter.subject, days)
      clearOtherDays(meter)
    }
  }

  /** Loads the missing days, like an engine before it admits. */
  #lookUp(request: HoldRequest): void {
    const lookup = planDayLookup(this.state, [request])
    if (!lookup) return
    const rows = lookup.subjects.flatMap((subject) =>
      [...(this.#written.get(subject) ?? [])]
        .filter(([day]) => day >= lookup.from && day <= lookup.to)
        .map(([day, { spent, byok, held, heldByok, free }]) => ({
          subject,
          day,
          spent_nanos: spent,
          byok_nanos: byok,
          held_nanos: held,
          held_byok_nanos: heldByok,
          free,
        })),
    )
    applyOtherDays(this.state, lookup, rows)
  }

  #admit({ amount, byok, days, subjects }: Step): void {
    this.#time += days * dayMs
    const names = subjects.map((index) => subjectNames[index] as string)
    const request: HoldRequest = {
      id: `gen-${this.records.length}`,
      subjects: names,
      day: utcDay(this.#time),
      limits: this.#limits.filter(({ subject }) => names.includes(subject)),
      free: null,
      amount: BigInt(amount),
      byok: BigInt(byok),
    }
    const before = this.#state()
    this.#lookUp(request)
    if (this.state.admit(request)) {
      this.refused++
      expect(this.state.holds.has(request.id)).toBe(false)
      expect(this.#totals()).toEqual(before)
      return
    }
    this.admitted++
    const day = this.state.holds.get(request.id)?.day ?? ''
    expect(day).toBe(request.day)
    this.records.push({
      id: request.id,
      subjects: names,
      day,
      held: { amount: request.amount, byok: request.byok },
      spent: { amount: 0n, byok: 0n },
    })
    this.#expectWithinLimits(request)
  }

  #state() {
    return this.#totals()
  }

  #totals() {
    return [...this.state.meters.values()].map(({ spent, held }) => [spent.total, held.total])
  }

  /** I4. */
  #expectWithinLimits({ limits: checked, amount, byok }: HoldRequest): void {
    for (const limit of checked) {
      if (amount + (limit.includeByok ? byok : 0n) === 0n) continue
      const used = this.#counted(limit.subject, limit.window, limit.includeByok)
      expect(used <= limit.amount).toBe(true)
    }
  }

  /** Posted and held in the current window of the meter, summed from the list. */
  #counted(subject: string, window: Window, includeByok: boolean): bigint {
    const meter = this.state.meters.get(subject)
    let sum = 0n
    for (const record of this.records) {
      if (!record.subjects.includes(subject) || !isIn(record.day, meter?.day ?? '', window)) continue
      sum += record.spent.amount + (record.held?.amount ?? 0n)
      if (includeByok) sum += record.spent.byok + (record.held?.byok ?? 0n)
    }
    return sum
  }

  /** I3: a repeated hold changes nothing. */
  #admitAgain({ pick }: Step): void {
    const record = this.records[pick % Math.max(1, this.records.length)]
    if (!record?.held) return
    const before = this.#totals()
    const request = {
      id: record.id,
      subjects: record.subjects,
      day: record.day,
      limits: [],
      free: null,
      ...record.held,
    }
    expect(this.state.admit(request)).toBeNull()
    expect(this.#totals()).toEqual(before)
  }

  #settle({ pick, share }: Step): void {
    const open = this.records.filter(({ held }) => held !== null)
    const record = open[pick % Math.max(1, open.length)]
    if (!record?.held) return
    const part = (amount: bigint) => BigInt(Math.floor(Number(amount) * share))
    record.spent = { amount: part(record.held.amount), byok: part(record.held.byok) }
    record.held = null
    expect(this.state.settle(record.id, record.spent)?.id).toBe(record.id)
    this.settled++
  }

  /** I3: a settlement does not change afterwards. */
  #settleAgain({ pick }: Step): void {
    const closed = this.records.filter(({ held }) => held === null)
    const record = closed[pick % Math.max(1, closed.length)]
    if (!record) return
    const before = this.#totals()
    expect(this.state.settle(record.id, { amount: 7n, byok: 7n })).toBeNull()
    expect(this.#totals()).toEqual(before)
  }

  /** Every total of every meter equals the sum of the list; none is below zero. */
  agrees(): void {
    for (const [subject, meter] of this.state.meters) {
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
    expect(this.state.holds.size).toBe(this.records.filter(({ held }) => held !== null).length)
  }
}

function isIn(day: string, today: string, window: Window): boolean {
  if (window === 'total' || day === today) return true
  if (today === '' || window === 'day') return false
  return windowStartsOf(day)[window] === windowStartsOf(today)[window]
}

test(
  'R2 R13 I3 I4 I6 any order of holds and settlements, with a clock that steps forward and back over days, weeks, months and years',
  () => {
    const sums = { operations: 0, admitted: 0, refused: 0, settled: 0 }
    const size = { minLength: operations, maxLength: operations }
    fc.assert(
      fc.property(limits, fc.array(steps, size), (amounts, attempt) => {
        const twin = new Twin(amounts)
        attempt.forEach((step, index) => {
          twin.take(step)
          if (index % 50 === 0) twin.agrees()
        })
        twin.agrees()
        sums.operations += attempt.length
        sums.admitted += twin.admitted
        sums.refused += twin.refused
        sums.settled += twin.settled
      }),
      { numRuns: runs, seed: 20_270_228, endOnFailure: true },
    )
    // A run that rejects nothing, or everything, proves nothing.
    expect(sums.refused).toBeGreaterThan(sums.operations / 50)
    expect(sums.settled).toBeGreaterThan(sums.operations / 50)
    printTotals('the ledger state', sums)
  },
  testTimeoutMs,
)
