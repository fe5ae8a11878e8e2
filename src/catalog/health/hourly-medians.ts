import { SlidingHistogram } from '../../platform/concurrency/sliding-histogram.ts'

export const hourMs = 60 * 60 * 1000
const maxHours = 24

/** The median of each of the last 24 hours. Of a finished hour only the median is kept, to save memory. */
export class HourlyMedians {
  readonly #current = new SlidingHistogram(hourMs, 1)
  #hour = -1
  readonly #finished: { hour: number; median: number }[] = []

  add(now: number, value: number): void {
    const hour = Math.floor(now / hourMs)
    if (hour !== this.#hour) this.#finish()
    this.#hour = hour
    this.#current.add(now, value)
  }

  /** Null without values in this hour since 1970. */
  get(hour: number): number | null {
    if (hour === this.#hour) return this.#medianOfCurrent()
    return this.#finished.findLast((finished) => finished.hour === hour)?.median ?? null
  }

  #finish(): void {
    const median = this.#medianOfCurrent()
    if (median !== null) this.#finished.push({ hour: this.#hour, median })
    if (this.#finished.length > maxHours) this.#finished.shift()
  }

  #medianOfCurrent(): number | null {
    return this.#current.quantiles(this.#hour * hourMs, 0)?.p50 ?? null
  }
}
