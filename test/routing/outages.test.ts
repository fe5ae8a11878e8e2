import { describe, expect, test } from 'bun:test'
import { buildFakeCatalogue, type FakeModel } from '../support/fake-routing.ts'
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

/** The behaviour of one endpoint over the whole run. */
interface Fate {
  /** Start and end of each outage, alternating. */
  outages: [from: number, to: number][]
  /** Its status during an outage. */
  status: number | null
  /** Its rate limit, in requests a second. */
  perSecond: number
  hintMs: number
  latency: number
  speed: number
}

function fateOf(random: () => number, frail: number): Fate {
  const outages: Fate['outages'] = []
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

function isDown({ outages }: Fate, elapsed: number): boolean {
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
  return Array.from({ length: models }, (_, place) => ({
    id: `made/model-${place}`,
    endpoints: Array.from({ length: fewest + Math.floor(random() * (most - fewest + 1)) }, (_, at) => {
      const kind = random()
      return { provider: `p${at}`, price: kind < 0.05 ? null : kind < 0.1 ? 0 : 10 ** (random() * 4 - 2) }
    }),
  }))
}

interface Run {
  simulation: Simulation
  fates: Map<string, Fate>
  /** Attempts during a known Retry-After of their endpoint. */
  disturbed: unknown[]
}

async function simulateTraffic(seed: number, requests: number, size = large): Promise<Run> {
  const random = seededRandom(seed)
  const models = manyModels(random, size)
  const catalog = buildFakeCatalogue(models)
  const fates = new Map<string, Fate>()
  for (const { id } of models)
    for (const endpoint of catalog.bySlug.get(id)?.endpoints ?? [])
      fates.set(endpoint.id, fateOf(random, size.frail))
  const disturbed: unknown[] = []
  const retryAfters = new Map<string, { at: number; until: number }>()
  const lastAt = new Map<string, number>()
  const behavior: EndpointBehavior = ({ id }, now, chance) => {
    const fate = fates.get(id)
    if (!fate) throw new Error(`unknown endpoint ${id}`)
    const hint = retryAfters.get(id)
    if (hint && now > hint.at && now < hint.until) disturbed.push({ id, now, ...hint })
    const isBusy = now - (lastAt.get(id) ?? 0) < 1000 / fate.perSecond
    lastAt.set(id, now)
    if (isDown(fate, simulation.elapsed)) return { afterMs: 10 + chance() * 90, status: fate.status }
    if (isBusy) {
      const afterMs = 5
      const at = now + afterMs
      const until = Math.max(retryAfters.get(id)?.until ?? 0, at + fate.hintMs)
      retryAfters.set(id, { at, until })
      return { afterMs, status: 429, retryAfterMs: fate.hintMs }
    }
    return succeed(fate, chance)
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
  return { simulation, fates, disturbed }
}

function succeed({ latency, speed }: Fate, chance: () => number): SimulatedOutcome {
  return { firstTokenMs: sampleLogNormal(chance, latency, 0.4), tokens: 20, tokensPerSecond: speed }
}

function triedOf(served: readonly SimulatedResult[]): SimulatedAttempt[] {
  return served.flatMap(({ attempts }) => attempts)
}

const requests = 12_000
const running = simulateTraffic(2026, requests)

describe('thousands of endpoints with different outages, limits, prices and latencies', () => {
  test('R15 every request succeeds', async () => {
    const { simulation, fates } = await running
    expect(fates.size).toBeGreaterThan(2500)
    expect(simulation.results.filter(({ endpointId }) => endpointId === null)).toEqual([])
  })

  test('a provider is never called during its Retry-After', async () => {
    const { simulation, disturbed } = await running
    expect(disturbed).toEqual([])
    expect(triedOf(simulation.results).some(({ failed }) => failed)).toBe(true)
  })

  test('I11 attempts stay within 1.2 a request', async () => {
    const { simulation } = await running
    expect(triedOf(simulation.results).length / requests).toBeLessThanOrEqual(1.2)
  })

  test('an outage is detected by a few requests, not by all of them', async () => {
    const { simulation, fates } = await running
    const tried = Map.groupBy(triedOf(simulation.results), ({ id }) => id)
    let wasted = 0
    let spared = 0
    for (const [id, { outages }] of fates) {
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
      await simulateTraffic(5, 1500),
      await simulateTraffic(5, 1500),
      await simulateTraffic(6, 1500),
    ]
    expect(retryAfters(first)).toBe(retryAfters(second))
    expect(retryAfters(first)).not.toBe(retryAfters(other))
  })
})

describe('models with two endpoints', () => {
  test('R15 hardly any request fails while one of them works', async () => {
    const { simulation, fates, disturbed } = await simulateTraffic(77, requests, harsh)
    const works = (id: string, { at, attempts }: SimulatedResult) => {
      const fate = fates.get(id)
      const end = Math.max(at, ...attempts.map(({ endedAt }) => endedAt))
      return fate?.perSecond === Number.POSITIVE_INFINITY && !isDown(fate, at) && !isDown(fate, end)
    }
    const isNeedless = (served: SimulatedResult) =>
      ['p0', 'p1'].some((provider) => works(`${served.model} ${provider}`, served))
    const unanswered = simulation.results.filter(({ endpointId }) => endpointId === null)
    const needless = unanswered.filter(isNeedless)
    expect(disturbed).toEqual([])
    expect(unanswered.length).toBeGreaterThan(100)
    // An ejected endpoint that just recovered is not tried before its ejection ends.
    expect(needless.length / requests).toBeLessThan(0.005)
  })
})

describe('I11 the retry budget', () => {
  const alone = buildFakeCatalogue([{ id: 'made/alone', endpoints: [{ provider: 'only', price: 1 }] }])
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
