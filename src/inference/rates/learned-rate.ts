import type { LimitMeasure } from '../../governance/limits/limit-rule.ts'

/** What the rates of providers count. */
export type RateMeasure = Exclude<LimitMeasure, 'usd' | 'concurrent_requests'>
/** What a request uses of each measure. */
export type RateUse = Readonly<Record<RateMeasure, number>>

export const rateMeasures = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const

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
}

/** A report of which nothing was heard for this long says nothing any more. */
const maxAgeMs = 10 * 60_000

/**
 * What a provider has reported of its rates for one endpoint and credential, and what was sent there since then. The
 * caller passes the time of a clock that is never adjusted.
 */
export class LearnedRate {
  readonly #known = new Map<RateMeasure, KnownRate>()
  /** Of the requests that no report counts yet. */
  readonly #pending: Record<RateMeasure, number> = {
    requests: 0,
    tokens: 0,
    input_tokens: 0,
    output_tokens: 0,
  }

  learn(rates: readonly ReportedRate[], now: number): void {
    for (const { measure, limit, remaining, resetMs } of rates)
      this.#known.set(measure, { limit, used: limit - remaining, resetMs, at: now })
  }

  /** Milliseconds until a request probably fits into a share of the rates; null if it does now. */
  estimateWait(use: RateUse, share: number, now: number): number | null {
    let wait: number | null = null
    for (const [measure, rate] of this.#known) {
      if (now - rate.at > maxAgeMs) continue
      const ms = this.#estimateWait(rate, use[measure], { pending: this.#pending[measure], share, now })
      if (ms !== null) wait = Math.max(wait ?? 0, ms)
    }
    return wait
  }

  #estimateWait(
    { limit, used, resetMs, at }: KnownRate,
    needed: number,
    { pending, share, now }: { pending: number; share: number; now: number },
  ): number | null {
    const allowed = Math.max(1, Math.floor(limit * share))
    // One that needs more than the whole rate passes when nothing else does.
    const free = allowed - pending - Math.min(needed, allowed)
    const left = resetMs === 0 ? 0 : used * Math.max(0, 1 - (now - at) / resetMs)
    if (left <= free) return null
    // What is pending is known once its reply arrives.
    return free < 0 ? resetMs : resetMs * (1 - free / used) - (now - at)
  }

  /** A request is sent. */
  add(use: RateUse): void {
    for (const measure of rateMeasures) this.#pending[measure] += use[measure]
  }

  /** A report counts it now, or it was not sent. */
  subtract(use: RateUse): void {
    for (const measure of rateMeasures)
      this.#pending[measure] = Math.max(0, this.#pending[measure] - use[measure])
  }
}
