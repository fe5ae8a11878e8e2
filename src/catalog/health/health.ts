import type { UpstreamFailure } from '../../formats/call/failure.ts'
import { SlidingCounter } from '../../platform/concurrency/sliding-counter.ts'
import { AttemptHistory } from './attempt-history.ts'
import type {
  AttemptCounts,
  EndpointRestriction,
  EndpointStats,
  HourlyHealth,
  LastFailure,
  ReplyPerformance,
  Speed,
} from './endpoint-stats.ts'
import { endpointFailures, rejections } from './failure-kinds.ts'
import { HourlyMedians, hourMs } from './hourly-medians.ts'
import { QuantileWindows } from './quantile-windows.ts'
import { ToolCallHistory, type ToolCallQuality, unknownToolCallQuality } from './tool-call-history.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs

/** Failures count toward instability and ejection for this long. */
const failureWindowMs = 30 * secondMs

/** The share of failures below which an endpoint counts as stable. */
const unstableFailureShare = 0.1
/** An endpoint is ejected after this many consecutive failures. */
const ejectAfterFailures = 5
/** The share of failures at which an endpoint is ejected too, after a minimum of attempts. */
const ejectFailureShare = 0.5
const minAttemptsToEject = 20
const baseEjectionMs = 30 * secondMs
const maxEjectionMs = 5 * minuteMs
/** Milliseconds in which one request tests the endpoint after an ejection, and no other request is routed to it. */
const trialMs = 30 * secondMs
/** Retries per request, on average. */
const retryBudgetShare = 0.2
const maxRetryBudget = 20

const ok = 0
const failed = 1
const limited = 2

interface RoutingMetrics extends Speed {
  at: number
  toolCalls: ToolCallQuality
}

type FailureSignal = Pick<UpstreamFailure, 'kind' | 'retryAfterMs' | 'isRetryAfterCut'> &
  Partial<Pick<UpstreamFailure, 'status'>>

/** The health of one endpoint with one credential, measured from live traffic. The caller passes the time. */
export class EndpointHealth {
  // Read for every endpoint by every request: declared first, to be close together in memory.
  #cooldownUntil = 0
  /** The full length of the cooldown. */
  #cooldownMs = 0
  #ejectedUntil = 0
  #trialUntil = 0
  #lastFailureAt = Number.NEGATIVE_INFINITY
  #metrics: RoutingMetrics | null = null
  readonly #recent = new SlidingCounter(secondMs, 31, 3)
  readonly history = new AttemptHistory()
  readonly #latency = new QuantileWindows()
  readonly #throughput = new QuantileWindows()
  readonly #hourlyLatency = new HourlyMedians()
  readonly #hourlyThroughput = new HourlyMedians()
  /** Most endpoints never get tools. */
  #toolCalls: ToolCallHistory | null = null
  #consecutiveFailures = 0
  #ejections = 0
  #ejectedAt = 0
  #retryBudget = 0
  /** The time of its first ejection or cooldown since its last success. */
  #failingSince = 0
  /** The last failure of the endpoint, or rejection. */
  #lastFailure: LastFailure | null = null

  /** The end of the provider's `Retry-After`. */
  get cooldownUntil(): number {
    return this.#cooldownUntil
  }

  /** The start of its ejections and cooldowns since its last success, and the time of its last failure. */
  get failure(): { since: number; lastAt: number } | null {
    return this.#failingSince === 0 ? null : { since: this.#failingSince, lastAt: this.#lastFailureAt }
  }

  get lastFailure(): LastFailure | null {
    return this.#lastFailure
  }

  isCoolingDown(now: number): boolean {
    return this.#cooldownUntil !== 0 && isPending(this.#cooldownUntil, now, this.#cooldownMs)
  }

  /** Whether it failed too often, or another request is testing whether it has recovered. */
  isEjected(now: number): boolean {
    if (this.#ejectedUntil === 0) return false
    return isPending(this.#ejectedUntil, now, maxEjectionMs) || isPending(this.#trialUntil, now, trialMs)
  }

  get ejectedUntil(): number {
    return Math.max(this.#ejectedUntil, this.#trialUntil)
  }

  /** Whether a significant share of the attempts of the last 30 seconds failed. */
  isUnstable(now: number): boolean {
    // The common case, and checked for every endpoint by every request.
    if (now - this.#lastFailureAt > failureWindowMs + secondMs) return false
    const failures =
      this.#recent.sum(now, failureWindowMs, failed) + this.#recent.sum(now, failureWindowMs, limited)
    if (failures === 0) return false
    return failures >= unstableFailureShare * (failures + this.#recent.sum(now, failureWindowMs, ok))
  }

  /** Records an attempt. The first one after an ejection is the trial that shows whether the endpoint has recovered. */
  recordStart(now: number, isRetry: boolean): void {
    if (!isRetry) this.#retryBudget = Math.min(maxRetryBudget, this.#retryBudget + retryBudgetShare)
    if (this.#ejectedUntil !== 0) this.#trialUntil = now + trialMs
  }

  /** Deducts a retry of a failed request at the same endpoint; false if the budget does not allow it. */
  consumeRetryBudget(): boolean {
    if (this.#retryBudget < 1) return false
    this.#retryBudget -= 1
    return true
  }

  /** Returns whether it was the trial of an endpoint that was ejected. */
  recordSuccess(now: number, { firstTokenMs, tokensPerSecond }: ReplyPerformance): boolean {
    this.#recent.add(now, ok)
    this.history.addSuccess(now)
    this.#latency.add(now, firstTokenMs)
    this.#hourlyLatency.add(now, firstTokenMs)
    if (tokensPerSecond !== null) {
      this.#throughput.add(now, tokensPerSecond)
      this.#hourlyThroughput.add(now, tokensPerSecond)
    }
    this.#consecutiveFailures = 0
    this.#failingSince = 0
    // The ejection time is reset only after the endpoint has been stable for longer than any ejection.
    if (now - this.#ejectedAt > 2 * maxEjectionMs) this.#ejections = 0
    const hasRecovered = this.#trialUntil !== 0
    if (hasRecovered) this.#ejectedUntil = 0
    this.#trialUntil = 0
    return hasRecovered
  }

  /** A reply that was not waited for would have taken longer than this: without it, the measured times would be too short. */
  recordSlowReply(now: number, ms: number): void {
    this.#latency.add(now, ms)
  }

  get restriction(): EndpointRestriction {
    return {
      cooldownUntil: this.#cooldownUntil,
      cooldownMs: this.#cooldownMs,
      ejectedUntil: this.#ejectedUntil,
      lastFailure: this.#lastFailure,
    }
  }

  /** Applies what another node has learned. A shorter cooldown does not replace a longer one. */
  applyRestriction(
    now: number,
    { cooldownUntil, cooldownMs, ejectedUntil, lastFailure }: EndpointRestriction,
  ): void {
    if (cooldownUntil > now && cooldownUntil > this.#cooldownUntil) {
      this.#cooldownUntil = cooldownUntil
      this.#cooldownMs = cooldownMs
      this.#failingSince ||= now
    }
    if (ejectedUntil > now) {
      this.#ejectedUntil = Math.max(this.#ejectedUntil, ejectedUntil)
      this.#failingSince ||= now
    }
    if (lastFailure) this.restoreFailure(lastFailure)
  }

  /** A trial of another node was successful. */
  endEjection(): void {
    this.#ejectedUntil = 0
    this.#trialUntil = 0
  }

  /** Adds attempts of another node to those that decide about rank and ejection. */
  addRemoteAttempts(now: number, counts: AttemptCounts): void {
    this.#recent.add(now, ok, counts.succeeded)
    this.#recent.add(now, failed, counts.failed)
    this.#recent.add(now, limited, counts.rejected)
    if (counts.failed + counts.rejected > 0) this.#lastFailureAt = Math.max(this.#lastFailureAt, now)
  }

  /** Returns the restriction that it began, if any. */
  recordFailure(now: number, signal: FailureSignal): 'cooldown' | 'ejection' | null {
    const { kind, status = null, retryAfterMs, isRetryAfterCut } = signal
    const [cooldownUntil, ejections] = [this.#cooldownUntil, this.#ejections]
    if (rejections.has(kind) || endpointFailures.has(kind)) this.#lastFailure = { kind, status, at: now }
    // A hint with the rejection of one request must not stop the requests of others.
    if (retryAfterMs !== undefined && (kind === 'rate_limit_exceeded' || endpointFailures.has(kind))) {
      this.#startCooldown(now, retryAfterMs, isRetryAfterCut ?? false)
    }
    if (rejections.has(kind)) this.#recordRejection(now)
    if (endpointFailures.has(kind)) this.#recordEndpointFailure(now)
    else this.releaseTrial()
    if (this.#ejections > ejections) return 'ejection'
    return this.#cooldownUntil === cooldownUntil ? null : 'cooldown'
  }

  /**
   * Starts a cooldown. If its `Retry-After` was cut to the maximum, one request tests whether the endpoint has
   * recovered.
   */
  #startCooldown(now: number, ms: number, isCut: boolean): void {
    const until = now + ms
    if (this.isCoolingDown(now) && this.#cooldownUntil >= until) return
    this.#cooldownUntil = until
    this.#cooldownMs = ms
    this.#failingSince ||= now
    if (isCut) this.#ejectedUntil = until
  }

  #recordRejection(now: number): void {
    this.#recent.add(now, limited)
    this.#lastFailureAt = now
  }

  #recordEndpointFailure(now: number): void {
    this.#recent.add(now, failed)
    this.history.addFailure(now)
    this.#lastFailureAt = now
    this.#consecutiveFailures += 1
    // Attempts that were in flight at the ejection, or had no other endpoint, do not extend it.
    if (isPending(this.#ejectedUntil, now, maxEjectionMs)) return
    if (this.#trialUntil !== 0 || this.#isOutlier(now)) this.#eject(now)
  }

  /** An attempt was inconclusive: the client disconnected, or the request was invalid. */
  releaseTrial(): void {
    this.#trialUntil = 0
  }

  recordToolCalls(now: number, areValid: boolean): void {
    this.#toolCalls ??= new ToolCallHistory()
    this.#toolCalls.add(now, areValid)
  }

  getToolCallQuality(now: number): ToolCallQuality {
    return this.#computeMetrics(now).toolCalls
  }

  /** The share of replies with tool calls in which every call was valid; null when there were too few. */
  getToolSuccess(now: number): number | null {
    return this.getToolCallQuality(now).success
  }

  getSpeed(now: number): Speed {
    return this.#computeMetrics(now)
  }

  /** Computed at most once a second. */
  #computeMetrics(now: number): RoutingMetrics {
    if (this.#metrics && Math.abs(now - this.#metrics.at) < secondMs) return this.#metrics
    const toolCalls = this.#toolCalls?.assess(now) ?? unknownToolCallQuality
    const latency = this.#latency.getRoutingQuantiles(now)
    const throughput = this.#throughput.getRoutingQuantiles(now)
    this.#metrics = { at: now, toolCalls, latency, throughput }
    return this.#metrics
  }

  getStats(now: number): EndpointStats {
    return {
      latency: this.#latency.getStatsQuantiles(now),
      throughput: this.#throughput.getStatsQuantiles(now),
      ...this.history.getStats(now),
    }
  }

  /** A newer failure remains. */
  restoreFailure(failure: LastFailure): void {
    if (failure.at > (this.#lastFailure?.at ?? 0)) this.#lastFailure = failure
  }

  /** The current hour and the 23 before it, oldest first. */
  getHours(now: number): HourlyHealth[] {
    const currentHour = Math.floor(now / hourMs)
    return Array.from({ length: 24 }, (_, index) => {
      const hoursAgo = 23 - index
      const hour = currentHour - hoursAgo
      return {
        endsAt: (hour + 1) * hourMs,
        ...this.history.countHour(now, hoursAgo),
        medianLatency: this.#hourlyLatency.get(hour),
        medianThroughput: this.#hourlyThroughput.get(hour),
      }
    })
  }

  #isOutlier(now: number): boolean {
    if (this.#consecutiveFailures >= ejectAfterFailures) return true
    const failures = this.#recent.sum(now, failureWindowMs, failed)
    const all = failures + this.#recent.sum(now, failureWindowMs, ok)
    return all >= minAttemptsToEject && failures >= ejectFailureShare * all
  }

  /** Each repeated ejection doubles the time, up to a maximum. */
  #eject(now: number): void {
    this.#ejectedAt = now
    this.#failingSince ||= now
    this.#ejectedUntil = now + Math.min(maxEjectionMs, baseEjectionMs * 2 ** this.#ejections)
    this.#ejections += 1
    this.#trialUntil = 0
    this.#consecutiveFailures = 0
  }
}

/** A time further in the future than any that is ever set means that the clock was set back. */
function isPending(until: number, now: number, maxMs: number): boolean {
  return now < until && until - now <= maxMs
}
