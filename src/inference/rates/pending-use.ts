import { type RateMeasure, type RateUse, rateMeasures } from './rate-use.ts'

const slotMs = 2000
/** A little more than a minute. */
const slotCount = 32
const fieldCount = rateMeasures.length

/** The use of requests that no report counts yet, by the time they were sent: after a minute no rate counts them. */
export class PendingUse {
  readonly #stamps = new Float64Array(slotCount).fill(-1)
  readonly #amounts = new Float64Array(slotCount * fieldCount)

  add(use: RateUse, now: number): void {
    const slot = Math.floor(now / slotMs)
    const index = slot % slotCount
    if (this.#stamps[index] !== slot) {
      this.#stamps[index] = slot
      this.#amounts.fill(0, index * fieldCount, (index + 1) * fieldCount)
    }
    this.#change(index, use, 1)
  }

  subtract(use: RateUse, sentAt: number): void {
    const slot = Math.floor(sentAt / slotMs)
    const index = slot % slotCount
    if (this.#stamps[index] === slot) this.#change(index, use, -1)
  }

  /** Includes slots that are partly in the window. */
  sum(measure: RateMeasure, windowMs: number, now: number): number {
    const oldest = (now - windowMs) / slotMs - 1
    const field = rateMeasures.indexOf(measure)
    let sum = 0
    for (let index = 0; index < slotCount; index++)
      if ((this.#stamps[index] ?? -1) > oldest) sum += this.#amounts[index * fieldCount + field] ?? 0
    return sum
  }

  #change(index: number, use: RateUse, sign: 1 | -1): void {
    for (const [field, measure] of rateMeasures.entries()) {
      const at = index * fieldCount + field
      this.#amounts[at] = Math.max(0, (this.#amounts[at] ?? 0) + sign * use[measure])
    }
  }
}
