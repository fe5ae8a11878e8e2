import { PendingUse } from './pending-use.ts'
import type { RateMeasure, RateUse } from './rate-use.ts'

/** A rate as a provider reports it with a reply. */
export interface ReportedRate {
  measure: RateMeasure
  limit: number
  remaining: number
  /** Until all of it remains again. */
  resetMs: number
}

interface KnownRate {
  limit: number
  /** At the time of the report; it decreases evenly until the reset. */
  used: number
  resetMs: number
  /** Milliseconds of a clock that is never adjusted. */
  at: number
  /** How long the rate counts a request, as far as the report tells. */
  windowMs: number
}

/** A report of which nothing was heard for this long says nothing any more. */
const maxAgeMs = 10 * 60_000
const minuteMs = 60_000
const minWindowMs = 1000

/**
 * What a provider has reported of its rates for one endpoint and credential, and what was sent there since then. The
 * caller passes the time of a clock that is never adjusted.
 */
export class LearnedRate {
  readonly #known = new Map<RateMeasure, KnownRate>()
  readonly #pending = new PendingUse()

  learn(rates: readonly ReportedRate[], now: number): void {
    for (const { measure, limit, remaining, resetMs } of rates) {
      const used = limit - remaining
      // A rate that refills evenly takes so long to refill completely.
      const windowMs = used === 0 ? minuteMs : (resetMs * limit) / used
      this.#known.set(measure, {
        limit,
        used,
        resetMs,
        at: now,
        windowMs: Math.min(minuteMs, Math.max(minWindowMs, windowMs)),
      })
    }
  }

  /** Milliseconds until a request probably fits into a share of the rates; null if it does now. */
  estimateWait(use: RateUse, share: number, now: number): number | null {
    let wait: number | null = null
    for (const [measure, rate] of this.#known) {
      if (now - rate.at > maxAgeMs) continue
      const pending = this.#pending.sum(measure, rate.windowMs, now)
      const ms = estimateRateWait(rate, use[measure], { pending, share, now })
      if (ms !== null) wait = Math.max(wait ?? 0, ms)
    }
    return wait
  }

  /** A request is sent. */
  add(use: RateUse, now: number): void {
    this.#pending.add(use, now)
  }

  /** A report counts it now, or it was not sent. */
  subtract(use: RateUse, sentAt: number): void {
    this.#pending.subtract(use, sentAt)
  }
}

interface Demand {
  pending: number
  share: number
  now: number
}

function estimateRateWait(
  { limit, used, resetMs, at, windowMs }: KnownRate,
  needed: number,
  { pending, share, now }: Demand,
): number | null {
  const allowed = Math.max(1, Math.floor(limit * share))
  // One that needs more than the whole rate passes when nothing else does.
  const free = allowed - pending - Math.min(needed, allowed)
  const left = resetMs === 0 ? 0 : used * Math.max(0, 1 - (now - at) / resetMs)
  if (left <= free) return null
  // What is pending is known once its reply arrives.
  return free < 0 ? windowMs : resetMs * (1 - free / used) - (now - at)
}
