import type { FailureKind, UpstreamFailure } from '../call/failure.ts'
import type { Endpoint } from '../catalog/model.ts'
import type { Quantiles } from '../lib/samples.ts'
import { Tally } from '../lib/tally.ts'
import { ratedMs, Spread, shownMs } from './spread.ts'

const second = 1000
const minute = 60 * second

/** A failure is remembered this long. */
const outageMs = 30 * second
const dayMs = 24 * 60 * minute

/** Fewer failures than this share of the last half minute are chance. */
const significantShare = 0.1
/** So many failures in a row, and an endpoint is left out for a while. */
const ejectAfter = 5
/** Or this share of many. */
const ejectShare = 0.5
const ejectFrom = 20
const ejectMs = 30 * second
const longestEjectMs = 5 * minute
/** One request tries an endpoint that comes back; the others wait this long for how it went. */
const trialMs = 30 * second
/** So many more attempts than requests. */
const retryShare = 0.2
const mostRetries = 20
/** Fewer tool calls say nothing about an endpoint. */
const fewestToolCalls = 50

/** Failures that say something about the endpoint, and not about the request or a quota. */
const unreliable: ReadonlySet<FailureKind> = new Set([
  'authentication',
  'payment_required',
  'provider_overloaded',
  'provider_unavailable',
  'server',
  'timeout',
])

/** May be about this request alone, which must not cost others the endpoint: they are asked first for a while. */
const turnedAway: ReadonlySet<FailureKind> = new Set([
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

interface Rating extends Speed {
  at: number
  toolSuccess: number | null
}

/** What listings show of an endpoint. */
export interface Shown extends Speed {
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

type FailureSigns = Pick<UpstreamFailure, 'kind' | 'retryAfterMs' | 'isRetryAfterCut'>

/** How a reply went. */
export interface Performance {
  firstTokenMs: number
  /** Null when nothing can be told of it. */
  tokensPerSecond: number | null
}

/** What live traffic has shown of one endpoint with one credential. All times are given: there is no clock in here. */
export class EndpointHealth {
  // What every request asks of every endpoint stands first, and so together in memory.
  #pausedUntil = 0
  /** How long the pause is in all. */
  #pauseMs = 0
  #ejectedUntil = 0
  #trialUntil = 0
  /** When it last failed or had no room. */
  #troubledAt = Number.NEGATIVE_INFINITY
  #rating: Rating | null = null
  readonly #recent = new Tally(second, 31, 3)
  readonly #rated = new Tally(30 * second, 61, 2)
  readonly #day = new Tally(5 * minute, 289, 2)
  readonly #latency = new Spread()
  readonly #throughput = new Spread()
  readonly #toolCalls = new Tally(60 * minute, 25, 2)
  #inARow = 0
  #ejections = 0
  #ejectedAt = 0
  #retries = 0

  /** Until when the provider asked to be left alone. */
  get pausedUntil(): number {
    return this.#pausedUntil
  }

  isPaused(now: number): boolean {
    return this.#pausedUntil !== 0 && isAhead(this.#pausedUntil, now, this.#pauseMs)
  }

  /** Left out: it failed too often, or another request is trying whether it is back. */
  isEjected(now: number): boolean {
    if (this.#ejectedUntil === 0) return false
    return isAhead(this.#ejectedUntil, now, longestEjectMs) || isAhead(this.#trialUntil, now, trialMs)
  }

  get ejectedUntil(): number {
    return Math.max(this.#ejectedUntil, this.#trialUntil)
  }

  /** Whether the last half minute saw more failures than chance has. */
  isUnstable(now: number): boolean {
    // Nearly always, and asked of every endpoint by every request.
    if (now - this.#troubledAt > outageMs + second) return false
    const failures = this.#recent.sum(now, outageMs, failed) + this.#recent.sum(now, outageMs, limited)
    if (failures === 0) return false
    return failures >= significantShare * (failures + this.#recent.sum(now, outageMs, ok))
  }

  /** An attempt goes out: of an endpoint that was left out it tells whether it is back. */
  began(now: number, isRetry: boolean): void {
    if (!isRetry) this.#retries = Math.min(mostRetries, this.#retries + retryShare)
    if (this.#ejectedUntil !== 0) this.#trialUntil = now + trialMs
  }

  /** Whether what failed may be tried once more at the same endpoint; saying so uses it up. */
  mayRetry(): boolean {
    if (this.#retries < 1) return false
    this.#retries -= 1
    return true
  }

  succeeded(now: number, { firstTokenMs, tokensPerSecond }: Performance): void {
    this.#count(now, ok)
    this.#latency.add(now, firstTokenMs)
    if (tokensPerSecond !== null) this.#throughput.add(now, tokensPerSecond)
    this.#inARow = 0
    // It is forgiven only when it has held out for longer than it could be left out.
    if (now - this.#ejectedAt > 2 * longestEjectMs) this.#ejections = 0
    if (this.#trialUntil !== 0) this.#ejectedUntil = 0
    this.#trialUntil = 0
  }

  failed(now: number, { kind, retryAfterMs, isRetryAfterCut }: FailureSigns): void {
    // What is said about a bad request may be the request's own words, and concerns nobody else.
    if (retryAfterMs !== undefined && (kind === 'rate_limit_exceeded' || unreliable.has(kind))) {
      this.#pause(now, retryAfterMs, isRetryAfterCut ?? false)
    }
    if (turnedAway.has(kind)) this.#limit(now)
    if (unreliable.has(kind)) this.#letDown(now)
    else this.released()
  }

  /** After a wait that was cut short, one request tries whether it is back. */
  #pause(now: number, ms: number, isCut: boolean): void {
    const until = now + ms
    if (this.isPaused(now) && this.#pausedUntil >= until) return
    this.#pausedUntil = until
    this.#pauseMs = ms
    if (isCut) this.#ejectedUntil = until
  }

  #limit(now: number): void {
    this.#recent.add(now, limited)
    this.#troubledAt = now
  }

  #letDown(now: number): void {
    this.#count(now, failed)
    this.#troubledAt = now
    this.#inARow += 1
    // What was under way when it was left out, or had nowhere else to go, does not keep it out for longer.
    if (isAhead(this.#ejectedUntil, now, longestEjectMs)) return
    if (this.#trialUntil !== 0 || this.#isOutlier(now)) this.#eject(now)
  }

  /** An attempt ended in a way that says nothing: the client left, or the request was wrong. */
  released(): void {
    this.#trialUntil = 0
  }

  toolCalls(now: number, areValid: boolean): void {
    this.#toolCalls.add(now, areValid ? ok : failed)
  }

  /** Share of the replies with tool calls in which every call was right; null when there were too few. */
  toolSuccess(now: number): number | null {
    return this.#rate(now).toolSuccess
  }

  /** Of the last five minutes. */
  speed(now: number): Speed {
    return this.#rate(now)
  }

  /** What requests are routed by, worked out at most once a second. */
  #rate(now: number): Rating {
    if (this.#rating && Math.abs(now - this.#rating.at) < second) return this.#rating
    const right = this.#toolCalls.sum(now, dayMs, ok)
    const all = right + this.#toolCalls.sum(now, dayMs, failed)
    const toolSuccess = all < fewestToolCalls ? null : right / all
    const latency = this.#latency.rated(now)
    const throughput = this.#throughput.rated(now)
    this.#rating = { at: now, toolSuccess, latency, throughput }
    return this.#rating
  }

  shown(now: number): Shown {
    return {
      latency: this.#latency.shown(now),
      throughput: this.#throughput.shown(now),
      uptime5m: uptime(this.#rated, now, ratedMs),
      uptime30m: uptime(this.#rated, now, shownMs),
      uptime1d: uptime(this.#day, now, dayMs),
      attempts5m: attempts(this.#rated, now, ratedMs),
      attempts30m: attempts(this.#rated, now, shownMs),
      attempts1d: attempts(this.#day, now, dayMs),
      completed30m: this.#rated.sum(now, shownMs, ok),
    }
  }

  #count(now: number, field: typeof ok | typeof failed): void {
    this.#recent.add(now, field)
    this.#rated.add(now, field)
    this.#day.add(now, field)
  }

  #isOutlier(now: number): boolean {
    if (this.#inARow >= ejectAfter) return true
    const failures = this.#recent.sum(now, outageMs, failed)
    const all = failures + this.#recent.sum(now, outageMs, ok)
    return all >= ejectFrom && failures >= ejectShare * all
  }

  /** Longer each time it has not held out. */
  #eject(now: number): void {
    this.#ejectedAt = now
    this.#ejectedUntil = now + Math.min(longestEjectMs, ejectMs * 2 ** this.#ejections)
    this.#ejections += 1
    this.#trialUntil = 0
    this.#inARow = 0
  }
}

/** A time that is farther away than it ever was set is one of a clock that was put back since. */
function isAhead(until: number, now: number, most: number): boolean {
  return now < until && until - now <= most
}

function uptime(tally: Tally, now: number, windowMs: number): number | null {
  const all = attempts(tally, now, windowMs)
  return all === 0 ? null : (tally.sum(now, windowMs, ok) / all) * 100
}

function attempts(tally: Tally, now: number, windowMs: number): number {
  return tally.sum(now, windowMs, ok) + tally.sum(now, windowMs, failed)
}

/** More are not remembered; those not tried for longest go first. */
const mostEndpoints = 20_000
const mostOwn = 5000

const ownPrefix = 'own '

/** What the health of an endpoint is known by: it may work with one key and not with another. */
export function healthIdOf(endpointId: string, ownKeyId: string | null): string {
  return ownKeyId === null ? endpointId : `${ownPrefix}${ownKeyId} ${endpointId}`
}

/** Of every endpoint that had traffic lately, by its id. */
export class Health {
  readonly #shared = new Map<string, EndpointHealth>()
  /** With keys of callers' own, which can be many: they push out one another and nobody else. */
  readonly #own = new Map<string, EndpointHealth>()
  /** Ids that came and went: lists made before are made anew. */
  #changes = 0
  readonly #lists = new WeakMap<readonly Endpoint[], { changes: number; list: (EndpointHealth | null)[] }>()

  /** Null for an endpoint nobody has tried: nothing speaks against it. */
  known(id: string): EndpointHealth | null {
    return this.#mapOf(id).get(id) ?? null
  }

  /** Of all endpoints of a model, in their order. To look up thousands of names takes longer than to decide. */
  knownOf(endpoints: readonly Endpoint[]): readonly (EndpointHealth | null)[] {
    const held = this.#lists.get(endpoints)
    if (held?.changes === this.#changes) return held.list
    const list = endpoints.map(({ id }) => this.known(id))
    this.#lists.set(endpoints, { changes: this.#changes, list })
    return list
  }

  of(id: string): EndpointHealth {
    const map = this.#mapOf(id)
    const known = map.get(id)
    const health = known ?? new EndpointHealth()
    map.delete(id)
    map.set(id, health)
    if (known) return health
    this.#changes += 1
    const [idle] = map.keys()
    if (map.size > (map === this.#own ? mostOwn : mostEndpoints) && idle !== undefined) map.delete(idle)
    return health
  }

  /** What was learnt of it holds no longer. */
  forget(id: string): void {
    if (this.#mapOf(id).delete(id)) this.#changes += 1
  }

  #mapOf(id: string): Map<string, EndpointHealth> {
    return id.startsWith(ownPrefix) ? this.#own : this.#shared
  }
}
