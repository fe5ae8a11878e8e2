import { type Quantiles, SlidingHistogram } from '../lib/sliding-histogram.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
/** Thresholds and sorting look at this much of the past. */
export const routingWindowMs = 5 * minuteMs
/** Listings show this much. */
export const statsWindowMs = 30 * minuteMs

/** The five minutes are kept finely, the half hour coarsely: thousands of endpoints are remembered. */
export class QuantileWindows {
  readonly #routing = new SlidingHistogram(30 * secondMs, 11)
  readonly #stats = new SlidingHistogram(5 * minuteMs, 7)

  add(now: number, value: number): void {
    this.#routing.add(now, value)
    this.#stats.add(now, value)
  }

  getRoutingQuantiles(now: number): Quantiles | null {
    return this.#routing.quantiles(now, routingWindowMs)
  }

  getStatsQuantiles(now: number): Quantiles | null {
    return this.#stats.quantiles(now, statsWindowMs)
  }
}
