import { spyOn } from 'bun:test'
import { noTokens } from '../../src/call/usage.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { GatewayError } from '../../src/errors.ts'
import { nothingCharged } from '../../src/ledger/charge.ts'
import type { JsonObject } from '../../src/lib/loose.ts'
import type { Asked } from '../../src/pipeline/asked.ts'
import { attemptEach } from '../../src/pipeline/attempt.ts'
import { type Journey, newJourney } from '../../src/pipeline/journey.ts'
import { observe } from '../../src/pipeline/observe.ts'
import { route } from '../../src/pipeline/route.ts'
import { UpstreamError } from '../../src/pipeline/upstream-error.ts'
import type { Candidate } from '../../src/routing/candidate.ts'
import { seeded } from '../support/random.ts'
import { type MadeQuestion, madeAsked, madeGateway } from '../support/routes.ts'
import { Timeline } from './timeline.ts'

interface Answer {
  firstTokenMs: number
  tokens: number
  tokensPerSecond: number
  cacheRead?: number
}

interface Refusal {
  afterMs: number
  /** Null: the connection failed. */
  status: number | null
  retryAfterMs?: number
}

/** What an endpoint does with one request. */
export type Play = Answer | Refusal

/** What every endpoint would do now. */
export type World = (candidate: Candidate, now: number, random: () => number) => Play

export interface Tried {
  at: number
  endedAt: number
  id: string
  why: string
  /** It is one more than the first for its request. */
  isFurther: boolean
  failed: boolean
}

export interface Served {
  at: number
  model: string
  /** Where the answer came from; null: there was none. */
  by: string | null
  /** What the client was told. */
  status: number
  tried: Tried[]
}

/** Any moment will do; it is in the middle of a second. */
const start = 1_800_000_000_500

/**
 * Real requests through the real decisions, attempts and observations, on a clock of their own and against
 * endpoints that exist only here. The same seed gives the same run.
 */
export class Simulation {
  readonly timeline = new Timeline(start)
  readonly gateway
  readonly served: Served[] = []
  readonly #world: World
  readonly #random: () => number

  constructor(catalog: Catalog, world: World, seed: number) {
    this.#world = world
    this.#random = seeded(seed)
    this.gateway = madeGateway(catalog, this.timeline, seeded(seed + 1))
  }

  /** Milliseconds since the beginning. */
  get elapsed(): number {
    return this.timeline.now() - start
  }

  /** The steady clock is the simulated one as long as the work lasts. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const steady = spyOn(performance, 'now').mockImplementation(this.timeline.now)
    try {
      return await this.timeline.run(work())
    } finally {
      steady.mockRestore()
    }
  }

  /** Requests that come one after the other, each after its own pause, and do not wait for each other. */
  async arrive(count: number, pauseMs: () => number, body: (place: number) => JsonObject): Promise<Served[]> {
    const asking: Promise<Served>[] = []
    for (let place = 0; place < count; place++) {
      asking.push(this.ask(body(place)))
      await this.timeline.sleep(pauseMs())
    }
    return Promise.all(asking)
  }

  async ask(body: JsonObject, question: MadeQuestion = {}): Promise<Served> {
    const at = this.timeline.now()
    const asked = madeAsked(body, { ...question, at })
    const model = asked.wishes.models[0] ?? ''
    const served: Served = { at: this.elapsed, model, by: null, status: 200, tried: [] }
    this.served.push(served)
    try {
      const journey = newJourney(at, route(this.gateway, asked))
      await this.#answer(asked, journey, served)
      served.by = journey.candidate?.id ?? null
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      served.status = error.row.status
    }
    return served
  }

  async #answer(asked: Asked, journey: Journey, served: Served): Promise<void> {
    const { plan } = journey
    const { reply } = await attemptEach<Answer>(
      this.gateway,
      asked,
      plan,
      journey,
      async (exchange, taken) => {
        const { candidate } = taken
        const tried = this.#trying(candidate, served)
        const play = this.#world(candidate, this.timeline.now(), this.#random)
        await this.timeline.sleep('status' in play ? play.afterMs : play.firstTokenMs)
        tried.endedAt = this.elapsed
        tried.failed = 'status' in play
        if ('status' in play) throw failureOf(play)
        exchange.release()
        return play
      },
    )
    const firstTokenMs = this.timeline.now() - journey.startedAt
    await this.timeline.sleep((reply.tokens / reply.tokensPerSecond) * 1000)
    const usage = { ...noTokens, output: reply.tokens, cacheRead: reply.cacheRead ?? 0 }
    const charge = { ...nothingCharged, usage }
    const completed = { status: 'completed', charge, seen: null, error: null, firstTokenMs } as const
    observe(this.gateway, asked, journey, completed)
  }

  #trying({ id, why }: Candidate, { tried }: Served): Tried {
    const isFurther = tried.length > 0
    const entry = { at: this.elapsed, endedAt: Number.POSITIVE_INFINITY, id, why, isFurther, failed: false }
    tried.push(entry)
    return entry
  }
}

function failureOf({ status, retryAfterMs }: Refusal): UpstreamError {
  const kind = status === 429 ? 'rate_limit_exceeded' : 'provider_unavailable'
  const hint = retryAfterMs === undefined ? {} : { retryAfterMs }
  return new UpstreamError({ kind, status, message: 'out of order', ...hint })
}

/** Five standard deviations of a binomial count: one seed in a million is outside. */
export function isLikely(count: number, of: number, share: number): boolean {
  return Math.abs(count - of * share) <= 5 * Math.sqrt(of * share * (1 - share)) + 1
}
