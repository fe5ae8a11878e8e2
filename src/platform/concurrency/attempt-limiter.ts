interface Entry {
  count: number
  lastAt: number
}

const baseDelayMs = 1000
const maxDelayMs = 15 * 60_000
/** Attempts are forgotten after this long without one. */
const forgetMs = 60 * 60_000

/**
 * Counts attempts by name. After some free ones, the next is allowed only after a delay, which doubles with each. When
 * it knows too many names, it forgets the one that was used least recently.
 */
export class AttemptLimiter {
  readonly #freeAttempts: number
  readonly #maxEntries: number
  readonly #entries = new Map<string, Entry>()

  constructor(freeAttempts: number, maxEntries = 50_000) {
    this.#freeAttempts = freeAttempts
    this.#maxEntries = maxEntries
  }

  /** The milliseconds until the next attempt is allowed. */
  waitMs(name: string, now: number): number {
    const entry = this.#find(name, now)
    const excess = entry ? entry.count - this.#freeAttempts : -1
    if (!entry || excess < 0) return 0
    const delay = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(excess, 30))
    return Math.max(0, entry.lastAt + delay - now)
  }

  count(name: string, now: number): void {
    const count = (this.#find(name, now)?.count ?? 0) + 1
    this.#entries.delete(name)
    this.#entries.set(name, { count, lastAt: now })
    if (this.#entries.size > this.#maxEntries) this.#entries.delete(this.#entries.keys().next().value ?? '')
  }

  /** Takes one attempt back. */
  uncount(name: string): void {
    const entry = this.#entries.get(name)
    if (entry) entry.count = Math.max(0, entry.count - 1)
  }

  forget(name: string): void {
    this.#entries.delete(name)
  }

  #find(name: string, now: number): Entry | undefined {
    const entry = this.#entries.get(name)
    return entry && now - entry.lastAt < forgetMs ? entry : undefined
  }
}
