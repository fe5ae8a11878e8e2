import { SlidingCounter } from '../../platform/concurrency/sliding-counter.ts'
import type { AttemptCounts, EndpointStats } from './endpoint-stats.ts'
import { routingWindowMs, statsWindowMs } from './quantile-windows.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
const dayMs = 24 * 60 * minuteMs
export const slotMs = 5 * minuteMs
const slotsPerHour = 12

const ok = 0
const failed = 1

/** Attempts that count toward the uptime. */
export type SlotCounts = Omit<AttemptCounts, 'rejected'>

/** The attempts of the last 24 hours in slots of five minutes, and those of the last half hour more exactly. */
export class AttemptHistory {
  readonly #halfHour = new SlidingCounter(30 * secondMs, 61, 2)
  readonly #day = new SlidingCounter(slotMs, 289, 2)

  addSuccess(now: number): void {
    this.#halfHour.add(now, ok)
    this.#day.add(now, ok)
  }

  addFailure(now: number): void {
    this.#halfHour.add(now, failed)
    this.#day.add(now, failed)
  }

  /** The attempts of the slot of this time. */
  getSlot(at: number): SlotCounts {
    return { succeeded: this.#day.countSlot(at, 0, ok), failed: this.#day.countSlot(at, 0, failed) }
  }

  /** Adds what an earlier process has counted in the slot that begins at this time. */
  restoreSlot(now: number, at: number, counts: SlotCounts): void {
    if (at > now || now - at >= dayMs) return
    this.#day.add(at, ok, counts.succeeded)
    this.#day.add(at, failed, counts.failed)
    if (now - at >= statsWindowMs) return
    this.#halfHour.add(at, ok, counts.succeeded)
    this.#halfHour.add(at, failed, counts.failed)
  }

  getStats(now: number): Omit<EndpointStats, 'latency' | 'throughput'> {
    return {
      uptime5m: computeUptime(this.#halfHour, now, routingWindowMs),
      uptime30m: computeUptime(this.#halfHour, now, statsWindowMs),
      uptime1d: computeUptime(this.#day, now, dayMs),
      attempts5m: countAttempts(this.#halfHour, now, routingWindowMs),
      attempts30m: countAttempts(this.#halfHour, now, statsWindowMs),
      attempts1d: countAttempts(this.#day, now, dayMs),
      completed30m: this.#halfHour.sum(now, statsWindowMs, ok),
    }
  }

  /** The attempts of an hour by the clock: 0 is the current one. */
  countHour(now: number, hoursAgo: number): SlotCounts {
    const slotsInHour = (Math.floor(now / slotMs) % slotsPerHour) + 1
    const first = hoursAgo === 0 ? 0 : slotsInHour + (hoursAgo - 1) * slotsPerHour
    const counts = { succeeded: 0, failed: 0 }
    for (let slot = first; slot < slotsInHour + hoursAgo * slotsPerHour; slot++) {
      counts.succeeded += this.#day.countSlot(now, slot, ok)
      counts.failed += this.#day.countSlot(now, slot, failed)
    }
    return counts
  }
}

function computeUptime(counters: SlidingCounter, now: number, windowMs: number): number | null {
  const all = countAttempts(counters, now, windowMs)
  return all === 0 ? null : (counters.sum(now, windowMs, ok) / all) * 100
}

function countAttempts(counters: SlidingCounter, now: number, windowMs: number): number {
  return counters.sum(now, windowMs, ok) + counters.sum(now, windowMs, failed)
}
