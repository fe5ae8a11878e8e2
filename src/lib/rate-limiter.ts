import { rateLimitError } from '../errors/gateway-error.ts'

const minuteMs = 60_000

/** Counts what is asked in the current minute, on this node. */
export class MinuteRateLimiter {
  #start = 0
  #counts = new Map<string, number>()

  /** One more; an error once there are too many. */
  consume(key: string, limit: number, now: number, message: string): void {
    const start = now - (now % minuteMs)
    if (start !== this.#start) {
      this.#start = start
      this.#counts = new Map()
    }
    const count = (this.#counts.get(key) ?? 0) + 1
    if (count > limit) throw rateLimitError(message, limit, minuteMs, now)
    this.#counts.set(key, count)
  }
}
