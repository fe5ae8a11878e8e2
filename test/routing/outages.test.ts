import { describe, expect, test } from 'bun:test'
import { buildFakeCatalog, type FakeModel } from '../support/fake-routing.ts'
import { sampleExponential, sampleLogNormal, seededRandom } from '../support/random.ts'
import {
  type EndpointBehavior,
  type SimulatedAttempt,
  type SimulatedOutcome,
  type SimulatedResult,
  Simulation,
} from './simulation.ts'

const second = 1000
const minute = 60 * second
const lastsMs = 15 * minute

/** The behavior of one endpoint over the whole run. */
interface SimulatedEndpoint {
  /** Start and end of each outage, alternating. */
  outages: [from: number, to: number][]
  /** Status of its replies during an outage. */
  status: number | null
  /** Rate limit, in requests a second. */
  perSecond: number
  hintMs: number
  latency: number
  speed: number
}

function drawBehavior(random: () => number, frail: number): SimulatedEndpoint {
  const outages: SimulatedEndpoint['outages'] = []
  const isFrail = random() < frail
  for (let at = sampleExponential(random, 4 * minute); isFrail && at < lastsMs; ) {
    const to = at + sampleExponential(random, 40 * second)
    outages.push([at, to])
    at = to + sampleExponential(random, 4 * minute)
  }
  const statuses = [500, 502, 503, 529, null]
  return {
    outages,
    status: statuses[Math.floor(random() * statuses.length)] ?? null,
    perSecond: random() < 0.1 ? 0.2 : Number.POSITIVE_INFINITY,
    hintMs: sampleExponential(random, 5 * second),
    latency: 10 ** (2 + random()),
    speed: 10 ** (1 + random()),
  }
}

function isDown({ outages }: SimulatedEndpoint, elapsed: number): boolean {
  return outages.some(([from, to]) => elapsed >= from && elapsed < to)
}

interface Size {
  models: number
  /** Endpoints of each. */
  fewest: number
  most: number
  /** Share of the endpoints that have outages. */
  frail: number
}

const large: Size = { models: 250, fewest: 4, most: 20, frail: 0.3 }
/** Often both endpoints of a model are down. */
const harsh: Size = { models: 100, fewest: 2, most: 2, frail: 1 }

/** Prices over several decades, some free, some unknown. */
function manyModels(random: () => number, { models, fewest, most }: Size): FakeModel[] {
  return Array.from({ length: models }, (_, index) => ({
    id: `made/model-${index}`,
    endpoints: Array.from({ length: fewest + Math.floor(random() * (most - fewest + 1)) }, (_, at) => {
      const kind = random()
      return { provider: `p${at}`, price: kind < 0.05 ? null : kind < 0.1 ? 0 : 10 ** (random() * 4 - 2) }
    }),
  }))
}

interface Run {
  simulation: Simulation
  endpoints: Map<string, SimulatedEndpoint>
  /** Attempts during a known Retry-After of their endpoint. */
  early: unknown[]
}

async function simulateTraffic(seed: number, requests: number, size = large): Promise<Run> {
  const random = seededRandom(seed)
  const models = manyModels(random, size)
  const catalog = buildFakeCatalog(models)
  const endpoints = new Map<string, SimulatedEndpoint>()
  for (const { id } of models)
    for (const endpoint of catalog.bySlug.get(id)?.endpoints ?? [])
      endpoints.set(endpoint.id, drawBehavior(random, size.frail))
  const early: unknown[] = []
  const retryAfters = new Map<string, { at: number; until: number }>()
  const lastAt = new Map<string, number>()
  const behavior: EndpointBehavior = ({ id }, now, chance) => {
    const endpointState = endpoints.get(id)
    if (!endpointState) throw new Error(`unknown endpoint ${id}`)
    const hint = retryAfters.get(id)
    if (hint && now > hint.at && now < hint.until) early.push({ id, now, ...hint })
    const isBusy = now - (lastAt.get(id) ?? 0) < 1000 / endpointState.perSecond
    lastAt.set(id, now)
    if (isDown(endpointState, simulation.elapsed))
      return { afterMs: 10 + chance() * 90, status: endpointState.status }
    if (isBusy) {
      const afterMs = 5
      const at = now + afterMs
      const until = Math.max(retryAfters.get(id)?.until ?? 0, at + endpointState.hintMs)
      retryAfters.set(id, { at, until })
      return { afterMs, status: 429, retryAfterMs: endpointState.hintMs }
    }
    return succeed(endpointState, chance)
  }
  const simulation: Simulation = new Simulation(catalog, behavior, seed)
  const chosen = seededRandom(seed + 7)
  await simulation.run(() =>
    simulation.sendMany(
      requests,
      () => sampleExponential(chosen, lastsMs / requests),
      // A few models have most of the traffic.
      () => ({ model: models[Math.floor(chosen() ** 3 * models.length)]?.id }),
    ),
  )
  return { simulation, endpoints, early }
}

function succeed({ latency, speed }: SimulatedEndpoint, chance: () => number): SimulatedOutcome {
  return { firstTokenMs: sampleLogNormal(chance, latency, 0.4), tokens: 20, tokensPerSecond: speed }
}

function triedOf(served: readonly SimulatedResult[]): SimulatedAttempt[] {
  return served.flatMap(({ attempts }) => attempts)
}

const requests = 12_000
const running = simulateTraffic(2026, requests)

describe('thousands of endpoints with different outages, limits, prices and latencies', () => {
  test('R15 every request succeeds', async () => {
    const { simulation, endpoints } = await running
    expect(endpoints.size).toBeGreaterThan(2500)
    expect(simulation.results.filter(({ endpointId }) => endpointId === null)).toEqual([])
  })

  test('a provider is never called during its Retry-After', async () => {
    const { simulation, early } = await running
    expect(early).toEqual([])
    expect(triedOf(simulation.results).some(({ failed }) => failed)).toBe(true)
  })

  test('I11 attempts stay within 1.2 a request', async () => {
    const { simulation } = await running
    expect(triedOf(simulation.results).length / requests).toBeLessThanOrEqual(1.2)
  })

  test('an outage is detected by a few requests, not by all of them', async () => {
    const { simulation, endpoints } = await running
    const tried = Map.groupBy(triedOf(simulation.results), ({ id }) => id)
    let wasted = 0
    let spared = 0
    for (const [id, { outages }] of endpoints) {
      const attempts = tried.get(id) ?? []
      const rate = attempts.filter(({ failed }) => !failed).length / lastsMs
      for (const [from, to] of outages) {
        wasted += attempts.filter(({ at }) => at >= from && at < to).length
        spared += rate * (Math.min(to, lastsMs) - from)
      }
    }
    expect(wasted).toBeGreaterThan(50)
    expect(wasted).toBeLessThan(spared)
  })

  test('the same seed gives the same run, byte for byte, and another one another', async () => {
    const retryAfters = ({ simulation }: Run) => JSON.stringify(simulation.results)
    const [first, second, other] = [
      await simulateTraffic(5, 500),
      await simulateTraffic(5, 500),
      await simulateTraffic(6, 500),
    ]
    expect(retryAfters(first)).toBe(retryAfters(second))
    expect(retryAfters(first)).not.toBe(retryAfters(other))
  })
})

describe('models with two endpoints', () => {
  test('R15 hardly any request fails while one of them works', async () => {
    const { simulation, endpoints, early } = await simulateTraffic(77, requests, harsh)
    const works = (id: string, { at, attempts }: SimulatedResult) => {
      const endpointState = endpoints.get(id)
      const end = Math.max(at, ...attempts.map(({ endedAt }) => endedAt))
      return (
        endpointState?.perSecond === Number.POSITIVE_INFINITY &&
        !isDown(endpointState, at) &&
        !isDown(endpointState, end)
      )
    }
    const isNeedless = (served: SimulatedResult) =>
      ['p0', 'p1'].some((provider) => works(`${served.model} ${provider}`, served))
    const unanswered = simulation.results.filter(({ endpointId }) => endpointId === null)
    const needless = unanswered.filter(isNeedless)
    expect(early).toEqual([])
    expect(unanswered.length).toBeGreaterThan(100)
    // An ejected endpoint that just recovered is not tried before its ejection ends.
    expect(needless.length / requests).toBeLessThan(0.005)
  })
})

describe('I11 the retry budget', () => {
  const alone = buildFakeCatalog([{ id: 'made/alone', endpoints: [{ provider: 'only', price: 1 }] }])
  const body = () => ({ model: 'made/alone' })
  const works = { firstTokenMs: 50, tokens: 10, tokensPerSecond: 100 }

  async function attemptsOf(behavior: EndpointBehavior, provider: object = {}): Promise<SimulatedResult[]> {
    const simulation = new Simulation(alone, behavior, 8)
    return simulation.run(() =>
      simulation.sendMany(
        3000,
        () => 50,
        () => ({ ...body(), provider }),
      ),
    )
  }

  test('with no other endpoint and everything down, one request in five is retried', async () => {
    const served = await attemptsOf(() => ({ afterMs: 5, status: 503 }))
    const ratio = triedOf(served).length / served.length
    expect(ratio).toBeLessThanOrEqual(1.2)
    expect(ratio).toBeGreaterThan(1.15)
  })

  test('an intermittent failure is retried without the client noticing', async () => {
    const served = await attemptsOf((_, __, random) => (random() < 0.1 ? { afterMs: 5, status: 503 } : works))
    const answeredShare = served.filter(({ endpointId }) => endpointId !== null).length / served.length
    expect(answeredShare).toBeGreaterThan(0.98)
    expect(triedOf(served).length / served.length).toBeLessThanOrEqual(1.2)
  })

  test.each([500, 429, null])(
    'after %p, null being a broken connection, nothing is tried again',
    async (status) => {
      const served = await attemptsOf(() => ({ afterMs: 5, status }))
      expect(triedOf(served).length).toBe(served.length)
    },
  )

  test('nor where the client allows no fallbacks', async () => {
    const served = await attemptsOf(() => ({ afterMs: 5, status: 503 }), { allow_fallbacks: false })
    expect(triedOf(served).length).toBe(served.length)
  })
})
