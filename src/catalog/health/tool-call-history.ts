import { SlidingCounter } from '../../platform/concurrency/sliding-counter.ts'
import { baselineDays, computeQualityFloor, windowDays } from '../benchmarks/statistics.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Replies that make a success rate significant. */
const minReplies = 50
/** A day with fewer replies is too noisy for the baseline. */
const minRepliesOfDay = 10

const valid = 0
const invalid = 1

export interface ToolCallQuality {
  /** The share of replies with tool calls in which every call was valid, over the last day; null if there were too few. */
  success: number | null
  /** The last day is significantly worse than the first 21 of 32 days were. */
  isDegraded: boolean
}

export const unknownToolCallQuality: ToolCallQuality = { success: null, isDegraded: false }

/** Counts of replies with valid and invalid tool calls of an endpoint, over 32 days. */
export class ToolCallHistory {
  readonly #hours = new SlidingCounter(hourMs, 25, 2)
  readonly #days = new SlidingCounter(dayMs, windowDays, 2)

  add(now: number, areValid: boolean): void {
    const field = areValid ? valid : invalid
    this.#hours.add(now, field)
    this.#days.add(now, field)
  }

  assess(now: number): ToolCallQuality {
    const validReplies = this.#hours.sum(now, dayMs, valid)
    const replies = validReplies + this.#hours.sum(now, dayMs, invalid)
    if (replies < minReplies) return unknownToolCallQuality
    const success = validReplies / replies
    const floor = computeQualityFloor(this.#listBaseline(now), replies)
    return { success, isDegraded: floor !== null && success < floor }
  }

  /** The share of each day with enough replies. */
  #listBaseline(now: number): number[] {
    const shares: number[] = []
    for (let daysAgo = windowDays - baselineDays; daysAgo < windowDays; daysAgo++) {
      const validReplies = this.#days.countSlot(now, daysAgo, valid)
      const replies = validReplies + this.#days.countSlot(now, daysAgo, invalid)
      if (replies >= minRepliesOfDay) shares.push(validReplies / replies)
    }
    return shares
  }
}
