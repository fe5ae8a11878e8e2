import { type GatewayError, rateLimitError } from '../errors/gateway-error.ts'

export const minuteMs = 60_000

/** Names that are counted in a minute: an attacker may have many addresses. */
const defaultMaxNames = 100_000

export function minuteLimitError(message: string, limit: number, now: number): GatewayError {
  return rateLimitError(message, limit, minuteMs, now)
}

/** Counts requests by name, in windows of one minute. Without other nodes, it returns no promise. */
export interface RateLimiter {
  /** Counts one request; throws beyond the limit. */
  consume(name: string, limit: number, now: number, message: string): void | Promise<void>
  /** Counts one request; false beyond the limit. */
  tryConsume(name: string, limit: number, now: number): boolean | Promise<boolean>
}

/** A fixed window of one minute, on this node. When it knows too many names, it forgets the one that came first. */
export class MinuteRateLimiter implements RateLimiter {
  readonly #maxNames: number
  #start = 0
  #counts = new Map<string, number>()

  constructor(maxNames = defaultMaxNames) {
    this.#maxNames = maxNames
  }

  consume(key: string, limit: number, now: number, message: string): void {
    if (!this.tryConsume(key, limit, now)) throw minuteLimitError(message, limit, now)
  }

  tryConsume(key: string, limit: number, now: number): boolean {
    const start = now - (now % minuteMs)
    if (start !== this.#start) {
      this.#start = start
      this.#counts = new Map()
    }
    const count = (this.#counts.get(key) ?? 0) + 1
    if (count > limit) return false
    this.#counts.set(key, count)
    if (this.#counts.size > this.#maxNames) this.#counts.delete(this.#counts.keys().next().value ?? '')
    return true
  }
}
