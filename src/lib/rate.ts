import { rateLimited } from '../errors.ts'

const minuteMs = 60_000

/** Counts what is asked in the current minute, on this node. */
export class MinuteRate {
  #start = 0
  #counts = new Map<string, number>()

  /** One more; an error once there are too many. */
  count(subject: string, most: number, now: number, message: string): void {
    const start = now - (now % minuteMs)
    if (start !== this.#start) {
      this.#start = start
      this.#counts = new Map()
    }
    const count = (this.#counts.get(subject) ?? 0) + 1
    if (count > most) throw rateLimited(message, most, minuteMs, now)
    this.#counts.set(subject, count)
  }
}
