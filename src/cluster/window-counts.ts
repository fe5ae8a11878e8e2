import type { Take, WindowRule } from './cluster.ts'

/** Names that are counted at a time: an attacker may have many addresses. */
const defaultMaxNames = 100_000

interface Counts {
  start: number
  current: number
  previous: number
}

/** Windows by name. When it knows too many names, it forgets the one that was counted first. */
export class WindowCounts {
  readonly #maxNames: number
  readonly #counts = new Map<string, Counts>()

  constructor(maxNames = defaultMaxNames) {
    this.#maxNames = maxNames
  }

  take(name: string, amount: number, { limit, windowMs, kind }: WindowRule, now: number): Take {
    const counts = this.#advance(name, now, windowMs)
    const elapsed = Math.min(1, Math.max(0, (now - counts.start) / windowMs))
    const earlier = kind === 'sliding' ? Math.floor(counts.previous * (1 - elapsed)) : 0
    const isTaken = counts.current + earlier + amount <= limit
    if (isTaken) counts.current += amount
    return { isTaken, used: counts.current + earlier, windowStart: counts.start }
  }

  /** Counts what was taken elsewhere. */
  add(name: string, amount: number, windowMs: number, now: number): void {
    this.#advance(name, now, windowMs).current += amount
  }

  /** A window that has ended still counts in the one after it. */
  refund(name: string, amount: number, { windowStart }: Take, windowMs: number): void {
    const counts = this.#counts.get(name)
    if (counts?.start === windowStart) counts.current = Math.max(0, counts.current - amount)
    else if (counts?.start === windowStart + windowMs) counts.previous = Math.max(0, counts.previous - amount)
  }

  /** A node whose clock is behind counts in the window that has begun elsewhere. */
  #advance(name: string, now: number, windowMs: number): Counts {
    const start = now - (now % windowMs)
    const counts = this.#counts.get(name)
    if (!counts) return this.#insert(name, { start, current: 0, previous: 0 })
    if (counts.start >= start && counts.start - start <= windowMs) return counts
    counts.previous = counts.start === start - windowMs ? counts.current : 0
    counts.current = 0
    counts.start = start
    return counts
  }

  #insert(name: string, counts: Counts): Counts {
    this.#counts.set(name, counts)
    if (this.#counts.size > this.#maxNames) this.#counts.delete(this.#counts.keys().next().value ?? '')
    return counts
  }
}
