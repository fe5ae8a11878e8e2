import type { FailureKind, UpstreamFailure } from '../call/failure.ts'
import type { Endpoint } from '../catalogue/model.ts'
import { SlidingCounter } from '../lib/sliding-counter.ts'
import type { Quantiles } from '../lib/sliding-histogram.ts'
import { QuantileWindows, routingWindowMs, statsWindowMs } from './quantile-windows.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs

/** A failure is remembered this long. */
const failureWindowMs = 30 * secondMs
const dayMs = 24 * 60 * minuteMs

/** Fewer failures than this share of the last half minute are chance. */
const unstableFailureShare = 0.1
/** So many failures in a row, and an endpoint is left out for a while. */
const ejectAfterFailures = 5
/** Or this share of many. */
const ejectFailureShare = 0.5
const minAttemptsToEject = 20
const baseEjectionMs = 30 * secondMs
const maxEjectionMs = 5 * minuteMs
/** One request tries an endpoint that comes back; the others wait this long for how it went. */
const trialMs = 30 * secondMs
/** So many more attempts than requests. */
const retryBudgetShare = 0.2
const maxRetryBudget = 20
/** Fewer tool calls say nothing about an endpoint. */
const minToolCalls = 50

/** Failures that say something about the endpoint, and not about the request or a quota. */
const endpointFailures: ReadonlySet<FailureKind> = new Set([
  'authentication',
  'payment_required',
  'provider_overloaded',
  'provider_unavailable',
  'server',
  'timeout',
])

/** May be about this request alone, which must not cost others the endpoint: they are asked first for a while. */
const rejections: ReadonlySet<FailureKind> = new Set([
  'rate_limit_exceeded',
  'permission_denied',
  'not_found',
])

const ok = 0
const failed = 1
const limited = 2

export interface Speed {
  /** Milliseconds to the first token. */
  latency: Quantiles | null
  /** Tokens a second. */
  throughput: Quantiles | null
}

interface RoutingMetrics extends Speed {
  at: number
  toolSuccess: number | null
}

/** What listings show of an endpoint. */
export interface EndpointStats extends Speed {
  /** Per cent of the attempts that counted; null where there were none. */
  uptime5m: number | null
  uptime30m: number | null
  uptime1d: number | null
  /** How many attempts these are shares of. */
  attempts5m: number
  attempts30m: number
  attempts1d: number
  /** Replies of the last half hour. */
  completed30m: number
}

type FailureSignal = Pick<UpstreamFailure, 'kind' | 'retryAfterMs' | 'isRetryAfterCut'>

/** How a reply went. */
export interface ReplyPerformance {
  firstTokenMs: number
  /** Null when nothing can be told of it. */
  tokensPerSecond: number | null
}

/** What live traffic has shown of one endpoint with one credential. All times are given: there is no clock in here. */
export class EndpointHealth {
  // What every request asks of every endpoint stands first, and so together in memory.
  #cooldownUntil = 0
  /** How long the pause is in all. */
  #cooldownMs = 0
  #ejectedUntil = 0
  #trialUntil = 0
  /** When it last failed or had no room. */
  #lastFailureAt = Number.NEGATIVE_INFINITY
  #metrics: RoutingMetrics | null = null
  readonly #recent = new SlidingCounter(secondMs, 31, 3)
  readonly #halfHour = new SlidingCounter(30 * secondMs, 61, 2)
  readonly #day = new SlidingCounter(5 * minuteMs, 289, 2)
  readonly #latency = new QuantileWindows()
  readonly #throughput = new QuantileWindows()
  readonly #toolCalls = new SlidingCounter(60 * minuteMs, 25, 2)
  #consecutiveFailures = 0
  #ejections = 0
  #ejectedAt = 0
  #retryBudget = 0

  /** Until when the provider asked to be left alone. */
  get cooldownUntil(): number {
    return this.#cooldownUntil
  }

  isCoolingDown(now: number): boolean {
    return this.#cooldownUntil !== 0 && isPending(this.#cooldownUntil, now, this.#cooldownMs)
  }

  /** Left out: it failed too often, or another request is trying whether it is back. */
  isEjected(now: number): boolean {
    if (this.#ejectedUntil === 0) return false
    return isPending(this.#ejectedUntil, now, maxEjectionMs) || isPending(this.#trialUntil, now, trialMs)
  }

  get ejectedUntil(): number {
    return Math.max(this.#ejectedUntil, this.#trialUntil)
  }

  /** Whether the last half minute saw more failures than chance has. */
  isUnstable(now: number): boolean {
    // Nearly always, and asked of every endpoint by every request.
    if (now - this.#lastFailureAt > failureWindowMs + secondMs) return false
    const failures =
      this.#recent.sum(now, failureWindowMs, failed) + this.#recent.sum(now, failureWindowMs, limited)
    if (failures === 0) return false
    return failures >= unstableFailureShare * (failures + this.#recent.sum(now, failureWindowMs, ok))
  }

  /** An attempt goes out: of an endpoint that was left out it tells whether it is back. */
  recordStart(now: number, isRetry: boolean): void {
    if (!isRetry) this.#retryBudget = Math.min(maxRetryBudget, this.#retryBudget + retryBudgetShare)
    if (this.#ejectedUntil !== 0) this.#trialUntil = now + trialMs
  }

  /** Whether what failed may be tried once more at the same endpoint; saying so uses it up. */
  consumeRetryBudget(): boolean {
    if (this.#retryBudget < 1) return false
    this.#retryBudget -= 1
    return true
  }

  recordSuccess(now: number, { firstTokenMs, tokensPerSecond }: ReplyPerformance): void {
    this.#count(now, ok)
    this.#latency.add(now, firstTokenMs)
    if (tokensPerSecond !== null) this.#throughput.add(now, tokensPerSecond)
    this.#consecutiveFailures = 0
    // It is forgiven only when it has held out for longer than it could be left out.
    if (now - this.#ejectedAt > 2 * maxEjectionMs) this.#ejections = 0
    if (this.#trialUntil !== 0) this.#ejectedUntil = 0
    this.#trialUntil = 0
  }

  recordFailure(now: number, { kind, retryAfterMs, isRetryAfterCut }: FailureSignal): void {
    // What is said about a bad request may be the request's own words, and concerns nobody else.
    if (retryAfterMs !== undefined && (kind === 'rate_limit_exceeded' || endpointFailures.has(kind))) {
      this.#startCooldown(now, retryAfterMs, isRetryAfterCut ?? false)
    }
    if (rejections.has(kind)) this.#recordRejection(now)
    if (endpointFailures.has(kind)) this.#recordEndpointFailure(now)
    else this.releaseTrial()
  }

  /** After a wait that was cut short, one request tries whether it is back. */
  #startCooldown(now: number, ms: number, isCut: boolean): void {
    const until = now + ms
    if (this.isCoolingDown(now) && this.#cooldownUntil >= until) return
    this.#cooldownUntil = until
    this.#cooldownMs = ms
    if (isCut) this.#ejectedUntil = until
  }

  #recordRejection(now: number): void {
    this.#recent.add(now, limited)
    this.#lastFailureAt = now
  }

  #recordEndpointFailure(now: number): void {
    this.#count(now, failed)
    this.#lastFailureAt = now
    this.#consecutiveFailures += 1
    // What was under way when it was left out, or had nowhere else to go, does not keep it out for longer.
    if (isPending(this.#ejectedUntil, now, maxEjectionMs)) return
    if (this.#trialUntil !== 0 || this.#isOutlier(now)) this.#eject(now)
  }

  /** An attempt ended in a way that says nothing: the client left, or the request was wrong. */
  releaseTrial(): void {
    this.#trialUntil = 0
  }

  recordToolCalls(now: number, areValid: boolean): void {
    this.#toolCalls.add(now, areValid ? ok : failed)
  }

  /** Share of the replies with tool calls in which every call was right; null when there were too few. */
  getToolSuccess(now: number): number | null {
    return this.#computeMetrics(now).toolSuccess
  }

  /** Of the last five minutes. */
  getSpeed(now: number): Speed {
    return this.#computeMetrics(now)
  }

  /** What requests are routed by, worked out at most once a second. */
  #computeMetrics(now: number): RoutingMetrics {
    if (this.#metrics && Math.abs(now - this.#metrics.at) < secondMs) return this.#metrics
    const valid = this.#toolCalls.sum(now, dayMs, ok)
    const all = valid + this.#toolCalls.sum(now, dayMs, failed)
    const toolSuccess = all < minToolCalls ? null : valid / all
    const latency = this.#latency.getRoutingQuantiles(now)
    const throughput = this.#throughput.getRoutingQuantiles(now)
    this.#metrics = { at: now, toolSuccess, latency, throughput }
    return this.#metrics
  }

  getStats(now: number): EndpointStats {
    return {
      latency: this.#latency.getStatsQuantiles(now),
      throughput: this.#throughput.getStatsQuantiles(now),
      uptime5m: computeUptime(this.#halfHour, now, routingWindowMs),
      uptime30m: computeUptime(this.#halfHour, now, statsWindowMs),
      uptime1d: computeUptime(this.#day, now, dayMs),
      attempts5m: countAttempts(this.#halfHour, now, routingWindowMs),
      attempts30m: countAttempts(this.#halfHour, now, statsWindowMs),
      attempts1d: countAttempts(this.#day, now, dayMs),
      completed30m: this.#halfHour.sum(now, statsWindowMs, ok),
    }
  }

  #count(now: number, field: typeof ok | typeof failed): void {
    this.#recent.add(now, field)
    this.#halfHour.add(now, field)
    this.#day.add(now, field)
  }

  #isOutlier(now: number): boolean {
    if (this.#consecutiveFailures >= ejectAfterFailures) return true
    const failures = this.#recent.sum(now, failureWindowMs, failed)
    const all = failures + this.#recent.sum(now, failureWindowMs, ok)
    return all >= minAttemptsToEject && failures >= ejectFailureShare * all
  }

  /** Longer each time it has not held out. */
  #eject(now: number): void {
    this.#ejectedAt = now
    this.#ejectedUntil = now + Math.min(maxEjectionMs, baseEjectionMs * 2 ** this.#ejections)
    this.#ejections += 1
    this.#trialUntil = 0
    this.#consecutiveFailures = 0
  }
}

/** A time that is farther away than it ever was set is one of a clock that was put back since. */
function isPending(until: number, now: number, maxMs: number): boolean {
  return now < until && until - now <= maxMs
}

function computeUptime(counters: SlidingCounter, now: number, windowMs: number): number | null {
  const all = countAttempts(counters, now, windowMs)
  return all === 0 ? null : (counters.sum(now, windowMs, ok) / all) * 100
}

function countAttempts(counters: SlidingCounter, now: number, windowMs: number): number {
  return counters.sum(now, windowMs, ok) + counters.sum(now, windowMs, failed)
}

/** More are not remembered; those not tried for longest go first. */
const maxEndpoints = 20_000
const maxByokEndpoints = 5000

const byokPrefix = 'own '

/** What the health of an endpoint is known by: it may work with one key and not with another. */
export function healthIdOf(endpointId: string, byokKeyId: string | null): string {
  return byokKeyId === null ? endpointId : `${byokPrefix}${byokKeyId} ${endpointId}`
}

/** Of every endpoint that had traffic lately, by its id. */
export class HealthRegistry {
  readonly #shared = new Map<string, EndpointHealth>()
  /** With keys of callers' own, which can be many: they push out one another and nobody else. */
  readonly #byok = new Map<string, EndpointHealth>()
  /** Ids that came and went: lists made before are made anew. */
  #version = 0
  readonly #lists = new WeakMap<readonly Endpoint[], { version: number; list: (EndpointHealth | null)[] }>()

  /** Null for an endpoint nobody has tried: nothing speaks against it. */
  find(id: string): EndpointHealth | null {
    return this.#mapOf(id).get(id) ?? null
  }

  /** Of all endpoints of a model, in their order. To look up thousands of names takes longer than to decide. */
  findAll(endpoints: readonly Endpoint[]): readonly (EndpointHealth | null)[] {
    const cached = this.#lists.get(endpoints)
    if (cached?.version === this.#version) return cached.list
    const list = endpoints.map(({ id }) => this.find(id))
    this.#lists.set(endpoints, { version: this.#version, list })
    return list
  }

  getOrCreate(id: string): EndpointHealth {
    const map = this.#mapOf(id)
    const known = map.get(id)
    const health = known ?? new EndpointHealth()
    map.delete(id)
    map.set(id, health)
    if (known) return health
    this.#version += 1
    const [idle] = map.keys()
    if (map.size > (map === this.#byok ? maxByokEndpoints : maxEndpoints) && idle !== undefined)
      map.delete(idle)
    return health
  }

  /** What was learnt of it holds no longer. */
  forget(id: string): void {
    if (this.#mapOf(id).delete(id)) this.#version += 1
  }

  #mapOf(id: string): Map<string, EndpointHealth> {
    return id.startsWith(byokPrefix) ? this.#byok : this.#shared
  }
}
