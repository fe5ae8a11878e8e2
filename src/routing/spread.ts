import { type Quantiles, Samples } from '../lib/samples.ts'

const second = 1000
const minute = 60 * second
/** Thresholds and sorting look at this much of the past. */
export const ratedMs = 5 * minute
/** Listings show this much. */
export const shownMs = 30 * minute

/** The five minutes are kept finely, the half hour coarsely: thousands of endpoints are remembered. */
export class Spread {
  readonly #rated = new Samples(30 * second, 11)
  readonly #shown = new Samples(5 * minute, 7)

  add(now: number, value: number): void {
    this.#rated.add(now, value)
    this.#shown.add(now, value)
  }

  rated(now: number): Quantiles | null {
    return this.#rated.quantiles(now, ratedMs)
  }

  shown(now: number): Quantiles | null {
    return this.#shown.quantiles(now, shownMs)
  }
}
