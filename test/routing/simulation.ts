import { spyOn } from 'bun:test'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { zeroUsage } from '../../src/formats/call/usage.ts'
import { UpstreamError } from '../../src/inference/failures/errors.ts'
import { planRoute } from '../../src/inference/plan/plan.ts'
import type { InferenceRequest, Routed } from '../../src/inference/request/inference-request.ts'
import type { Candidate } from '../../src/inference/routing/candidate.ts'
import { recordOutcome } from '../../src/inference/settle/observe.ts'
import { withFailover } from '../../src/inference/upstream/failover.ts'
import { type Translation, translate } from '../../src/inference/upstream/translate.ts'
import { zeroCharge } from '../../src/ledger/charge.ts'
import { GatewayError } from '../../src/platform/errors/gateway-error.ts'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { buildFakeGateway, buildFakeRequest, type FakeRequestOptions } from '../support/fake-routing.ts'
import { seededRandom } from '../support/random.ts'
import { VirtualClock } from './virtual-clock.ts'

interface SimulatedReply {
  firstTokenMs: number
  tokens: number
  tokensPerSecond: number
  cacheRead?: number
  /** Whether the tool calls are valid, for a reply that ends with some. */
  areToolCallsValid?: boolean
}

interface SimulatedFailure {
  afterMs: number
  /** Null: the connection failed. */
  status: number | null
  retryAfterMs?: number
}

/** The outcome of one request at an endpoint. */
export type SimulatedOutcome = SimulatedReply | SimulatedFailure

/** The outcome of a request at any endpoint at a given time. */
export type EndpointBehavior = (candidate: Candidate, now: number, random: () => number) => SimulatedOutcome

export interface SimulatedAttempt {
  at: number
  endedAt: number
  id: string
  why: string
  /** Whether it is a later attempt than the first of its request. */
  isFurther: boolean
  failed: boolean
}

export interface SimulatedResult {
  at: number
  model: string
  /** The endpoint that served it; null: none did. */
  endpointId: string | null
  /** The error the client received. */
  status: number
  attempts: SimulatedAttempt[]
}

/** An arbitrary time in the middle of a second. */
const start = 1_800_000_000_500

/**
 * Requests through the real routing, failover and health code, on a virtual clock and against simulated
 * endpoints. The same seed gives the same run.
 */
export class Simulation {
  readonly timeline = new VirtualClock(start)
  readonly gateway
  readonly results: SimulatedResult[] = []
  readonly #behavior: EndpointBehavior
  readonly #random: () => number

  constructor(catalog: Catalog, behavior: EndpointBehavior, seed: number) {
    this.#behavior = behavior
    this.#random = seededRandom(seed)
    this.gateway = buildFakeGateway(catalog, this.timeline, seededRandom(seed + 1))
  }

  /** Milliseconds since the beginning. */
  get elapsed(): number {
    return this.timeline.now() - start
  }

  /** The monotonic clock is the simulated one during `work`. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const steady = spyOn(performance, 'now').mockImplementation(this.timeline.now)
    try {
      return await this.timeline.run(work())
    } finally {
      steady.mockRestore()
    }
  }

  /** Starts requests one after the other, each after its pause, without waiting for their replies. */
  async sendMany(
    count: number,
    pauseMs: () => number,
    body: (index: number) => JsonObject,
  ): Promise<SimulatedResult[]> {
    const pending: Promise<SimulatedResult>[] = []
    for (let index = 0; index < count; index++) {
      pending.push(this.send(body(index)))
      await this.timeline.sleep(pauseMs())
    }
    return Promise.all(pending)
  }

  async send(body: JsonObject, options: FakeRequestOptions = {}): Promise<SimulatedResult> {
    const at = this.timeline.now()
    const request = buildFakeRequest(body, { ...options, at })
    const model = request.options.models[0] ?? ''
    const served: SimulatedResult = { at: this.elapsed, model, endpointId: null, status: 200, attempts: [] }
    this.results.push(served)
    try {
      await this.#respond(planRoute(this.gateway, request), served)
      served.endpointId = request.attempts.candidate?.id ?? null
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      served.status = error.row.status
    }
    return served
  }

  async #respond(request: Routed<InferenceRequest>, served: SimulatedResult): Promise<void> {
    const reply = await withFailover<Routed<InferenceRequest>, Translation, SimulatedReply>(
      this.gateway,
      request,
      {
        translate,
        execute: async (exchange, candidate) => {
          const tried = this.#recordAttempt(candidate, served)
          const play = this.#behavior(candidate, this.timeline.now(), this.#random)
          await this.timeline.sleep('status' in play ? play.afterMs : play.firstTokenMs)
          tried.endedAt = this.elapsed
          tried.failed = 'status' in play
          if ('status' in play) throw toUpstreamError(play)
          exchange.release()
          return play
        },
      },
    )
    const firstTokenMs = this.timeline.now() - request.startedAt
    await this.timeline.sleep((reply.tokens / reply.tokensPerSecond) * 1000)
    const usage = { ...zeroUsage, output: reply.tokens, cacheRead: reply.cacheRead ?? 0 }
    const charge = { ...zeroCharge, usage }
    const completed = { status: 'completed', charge, summary: null, error: null, firstTokenMs } as const
    recordOutcome(this.gateway, request, completed)
    const { candidate } = request.attempts
    if (reply.areToolCallsValid === undefined || !candidate) return
    const health = this.gateway.routing.health.getOrCreate(candidate.id)
    health.recordToolCalls(this.timeline.now(), reply.areToolCallsValid)
  }

  #recordAttempt({ id, why }: Candidate, { attempts }: SimulatedResult): SimulatedAttempt {
    const isFurther = attempts.length > 0
    const entry = { at: this.elapsed, endedAt: Number.POSITIVE_INFINITY, id, why, isFurther, failed: false }
    attempts.push(entry)
    return entry
  }
}

function toUpstreamError({ status, retryAfterMs }: SimulatedFailure): UpstreamError {
  const kind = status === 429 ? 'rate_limit_exceeded' : 'provider_unavailable'
  const hint = retryAfterMs === undefined ? {} : { retryAfterMs }
  return new UpstreamError({ kind, status, message: 'out of order', ...hint })
}

/** Five standard deviations of a binomial count: one seed in a million is outside. */
export function isLikely(count: number, of: number, share: number): boolean {
  return Math.abs(count - of * share) <= 5 * Math.sqrt(of * share * (1 - share)) + 1
}
