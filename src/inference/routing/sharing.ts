import type { AttemptCounts, EndpointRestriction } from '../../catalog/health/endpoint-stats.ts'
import { classifyFailure } from '../../catalog/health/failure-kinds.ts'
import type { EndpointHealth } from '../../catalog/health/health.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { FailureKind } from '../../formats/call/failure.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { type OutcomeReports, Routing } from './routing.ts'

const restrictionsChannel = 'restrictions'
const attemptsChannel = 'attempts'
const sessionsChannel = 'sessions'

/** Interval at which outcomes of attempts are sent, and how long after a failure those of an endpoint are. */
const attemptsMs = 1000
const watchMs = 30_000
/** Delay until conversations are sent, and how many are sent at once. */
const sessionsMs = 20
const maxSessions = 1000
/** Endpoints whose attempts are counted at a time. */
const maxEndpoints = 10_000

/** The conversations of the two kinds of Routing, each with its key and what it stays with. */
interface SharedSessions {
  sticky: [key: string, id: string][]
  routedSessions: [key: string, id: string][]
}

interface SharedRestriction {
  id: string
  /** Null if the endpoint has recovered. */
  restriction: EndpointRestriction | null
}

interface CountedEndpoint {
  counts: AttemptCounts
  /** Sent to other nodes until this time, by a clock that is never adjusted. */
  watchedUntil: number
}

/**
 * Sends what this node has learned about endpoints and conversations, and applies what others send. Requests never wait
 * for it: a cooldown, an ejection or a recovery is sent at once, the rest in batches.
 */
export class RoutingSharing implements OutcomeReports {
  readonly #cluster: Cluster
  readonly #routing: Routing
  readonly #clock: Clock
  readonly #endpoints = new Map<string, CountedEndpoint>()
  #sessions: SharedSessions = { sticky: [], routedSessions: [] }
  #attemptsTimer: ReturnType<typeof setTimeout> | null = null
  #sessionsTimer: ReturnType<typeof setTimeout> | null = null

  constructor(cluster: Cluster, routing: Routing, clock: Clock) {
    this.#cluster = cluster
    this.#routing = routing
    this.#clock = clock
    for (const kind of ['sticky', 'routedSessions'] as const)
      routing[kind].onChange = (key, id) => this.#addSession(kind, key, id)
    cluster.subscribe(restrictionsChannel, (message) => this.#applyRestriction(JSON.parse(message)))
    cluster.subscribe(attemptsChannel, (message) => this.#applyAttempts(JSON.parse(message)))
    cluster.subscribe(sessionsChannel, (message) => this.#applySessions(JSON.parse(message)))
  }

  reportFailure(id: string, health: EndpointHealth, kind: FailureKind): void {
    const now = this.#clock.now()
    const { restriction } = health
    if (restriction.cooldownUntil > now || restriction.ejectedUntil > now) this.#publish({ id, restriction })
    const field = classifyFailure(kind)
    if (field) this.#count(id, field, performance.now() + watchMs)
  }

  reportSuccess(id: string, hasRecovered: boolean): void {
    if (hasRecovered) this.#publish({ id, restriction: null })
    if (this.#endpoints.has(id)) this.#count(id, 'succeeded', 0)
  }

  #publish(message: SharedRestriction): void {
    this.#cluster.publish(restrictionsChannel, JSON.stringify(message))
  }

  #applyRestriction({ id, restriction }: SharedRestriction): void {
    const health = this.#routing.health.getOrCreate(id)
    if (restriction) health.applyRestriction(this.#clock.now(), restriction)
    else health.endEjection()
  }

  #count(id: string, field: keyof AttemptCounts, watchedUntil: number): void {
    const known = this.#endpoints.get(id)
    if (!known && this.#endpoints.size >= maxEndpoints) return
    const endpoint = known ?? { counts: { succeeded: 0, failed: 0, rejected: 0 }, watchedUntil }
    endpoint.counts[field]++
    endpoint.watchedUntil = Math.max(endpoint.watchedUntil, watchedUntil)
    this.#endpoints.set(id, endpoint)
    this.#attemptsTimer ??= setTimeout(() => this.flushAttempts(), attemptsMs).unref()
  }

  flushAttempts(): void {
    this.#attemptsTimer = null
    const attempts: [string, AttemptCounts][] = []
    for (const [id, { counts, watchedUntil }] of this.#endpoints) {
      if (counts.succeeded + counts.failed + counts.rejected > 0) attempts.push([id, { ...counts }])
      Object.assign(counts, { succeeded: 0, failed: 0, rejected: 0 })
      if (watchedUntil <= performance.now()) this.#endpoints.delete(id)
    }
    if (attempts.length > 0) this.#cluster.publish(attemptsChannel, JSON.stringify(attempts))
  }

  #applyAttempts(attempts: [string, AttemptCounts][]): void {
    const now = this.#clock.now()
    for (const [id, counts] of attempts) this.#routing.health.getOrCreate(id).addRemoteAttempts(now, counts)
  }

  #addSession(kind: keyof SharedSessions, key: string, id: string): void {
    this.#sessions[kind].push([key, id])
    if (this.#sessions[kind].length >= maxSessions) this.#flushSessions()
    else this.#sessionsTimer ??= setTimeout(() => this.#flushSessions(), sessionsMs).unref()
  }

  #flushSessions(): void {
    if (this.#sessionsTimer) clearTimeout(this.#sessionsTimer)
    this.#sessionsTimer = null
    const sessions = this.#sessions
    this.#sessions = { sticky: [], routedSessions: [] }
    this.#cluster.publish(sessionsChannel, JSON.stringify(sessions))
  }

  #applySessions({ sticky, routedSessions }: SharedSessions): void {
    const now = this.#clock.now()
    for (const [key, id] of sticky) this.#routing.sticky.receive(key, id, now)
    for (const [key, id] of routedSessions) this.#routing.routedSessions.receive(key, id, now)
  }
}

/** Routing that is shared with other nodes, if there can be any. */
export function createRouting(cluster: Cluster, clock: Clock): Routing {
  const routing = new Routing()
  if (cluster.status.kind !== 'memory') routing.sharing = new RoutingSharing(cluster, routing, clock)
  return routing
}
