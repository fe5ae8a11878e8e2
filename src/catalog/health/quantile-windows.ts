import { type Quantiles, SlidingHistogram } from '../../platform/concurrency/sliding-histogram.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
/** The window for thresholds and sorting. */
export const routingWindowMs = 5 * minuteMs
/** The window for statistics that the API reports. */
export const statsWindowMs = 30 * minuteMs

/** The routing window has a finer resolution than the statistics, to save memory over thousands of endpoints. */
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
