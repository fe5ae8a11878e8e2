import type { AppliedLimit } from '../../governance/limits/applied-limits.ts'
import type { CountedLimit, LimitCounts } from '../../governance/limits/counts.ts'
import type { WindowPosition } from '../../governance/limits/window.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { MeasuredUse } from './measured-use.ts'

/** A limit that leaves too little for a request. */
export interface Shortfall {
  applied: AppliedLimit
  /** Null for concurrent requests. */
  position: WindowPosition | null
  needed: number
  used: number
}

/**
 * What a request has reserved in windows of requests, tokens and short-term dollars, and its slots among concurrent
 * requests. When it ends, the amounts become what it has used.
 */
export class LimitReservation {
  readonly #counts: LimitCounts
  readonly counted: readonly CountedLimit[]
  readonly #slots: string[]
  #isEnded = false

  private constructor(counts: LimitCounts, counted: readonly CountedLimit[], slots: string[]) {
    this.#counts = counts
    this.counted = counted
    this.#slots = slots
  }

  /** Reserves in all limits, or in none if one of them leaves too little. */
  static async reserve(
    counts: LimitCounts,
    limits: readonly AppliedLimit[],
    use: MeasuredUse,
    at: number,
  ): Promise<LimitReservation | Shortfall> {
    const windowed = limits.filter(({ rule }) => rule.window !== null)
    const taken = await Promise.all(
      windowed.map((applied) => counts.take(applied, use[applied.rule.measure], at)),
    )
    const slots: string[] = []
    const reservation = new LimitReservation(
      counts,
      taken.filter(({ take }) => take.isTaken),
      slots,
    )
    const failed = taken.find(({ take }) => !take.isTaken)
    if (failed) {
      await reservation.release()
      const { applied, position, amount, take } = failed
      return { applied, position, needed: amount, used: take.used }
    }
    const concurrent = use.concurrent_requests > 0 ? limits.filter(({ rule }) => rule.window === null) : []
    for (const applied of concurrent) {
      const slot = await counts.acquire(applied)
      if (slot !== null) slots.push(slot)
      else {
        await reservation.release()
        return { applied, position: null, needed: 1, used: Number(applied.rule.amount) }
      }
    }
    return reservation
  }

  /** Takes everything back: the request was not admitted, or nothing was sent. */
  release(): Promise<void> {
    return this.#end(() => 0)
  }

  /** Frees the slots, and counts what was used instead of what was reserved. */
  settle(use: MeasuredUse, candidate: Candidate): Promise<void> {
    return this.#end(({ applied: { rule, counts }, amount }) => {
      if (counts?.(candidate) === false) return 0
      // Whether it is a request of its own was decided when it was admitted.
      return rule.measure === 'requests' ? amount : use[rule.measure]
    })
  }

  freeSlots(): void {
    for (const slot of this.#slots.splice(0)) this.#counts.release(slot)
  }

  async #end(usedOf: (counted: CountedLimit) => number): Promise<void> {
    if (this.#isEnded) return
    this.#isEnded = true
    this.freeSlots()
    await Promise.all(this.counted.map((counted) => this.#counts.correct(counted, usedOf(counted))))
  }
}
