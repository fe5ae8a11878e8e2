import { describe, expect, test } from 'bun:test'
import { buildFakeCatalog, type FakeEndpoint } from '../support/fake-routing.ts'
import { sampleLogNormal } from '../support/random.ts'
import {
  type EndpointBehavior,
  isLikely,
  type SimulatedOutcome,
  type SimulatedResult,
  Simulation,
} from './simulation.ts'

const second = 1000
const minute = 60 * second

const fine: SimulatedOutcome = { firstTokenMs: 50, tokens: 10, tokensPerSecond: 100 }
const broken: SimulatedOutcome = { afterMs: 20, status: 500 }
const body = () => ({ model: 'made/model' })

/** Endpoints `p0`, `p1`, ... of one model. */
function catalogOf(...endpoints: Omit<FakeEndpoint, 'provider'>[]) {
  const made = endpoints.map((endpoint, index) => ({ ...endpoint, provider: `p${index}` }))
  return buildFakeCatalog([{ id: 'made/model', endpoints: made }])
}

const idOf = (index: number) => `made/model p${index}`

function firstTried(served: readonly SimulatedResult[], index: number): SimulatedResult[] {
  return served.filter(({ attempts }) => attempts[0]?.id === idOf(index))
}

describe('health over thirty seconds', () => {
  test('a failure ranks an endpoint last for thirty seconds, then it has its share again', async () => {
    let failures = 0
    const behavior: EndpointBehavior = ({ endpoint }) =>
      endpoint.tag === 'p1' && failures++ === 0 ? broken : fine
    const simulation = new Simulation(catalogOf({ price: 2 }, { price: 2 }), behavior, 1)
    await simulation.run(() => simulation.sendMany(8000, () => 20, body))
    const failedAt =
      simulation.results.flatMap(({ attempts }) => attempts).find(({ failed }) => failed)?.endedAt ?? 0
    const [during, after] = [0, 31 * second].map((from, index) =>
      simulation.results.filter(
        ({ at }) => at > failedAt + from && (index === 1 || at < failedAt + 30 * second),
      ),
    )
    expect(during?.length).toBeGreaterThan(1400)
    expect(firstTried(during ?? [], 1)).toEqual([])
    expect(isLikely(firstTried(after ?? [], 1).length, after?.length ?? 0, 0.5)).toBe(true)
    expect(simulation.results.every(({ endpointId }) => endpointId !== null)).toBe(true)
  })

  test('an outage ejects an endpoint, one request at a time probes it, and it recovers', async () => {
    const outage = { from: 10 * second, to: 100 * second }
    const behavior: EndpointBehavior = ({ endpoint }) => {
      const { elapsed } = simulation
      return endpoint.tag === 'p0' && elapsed >= outage.from && elapsed < outage.to ? broken : fine
    }
    const simulation: Simulation = new Simulation(catalogOf({ price: 1 }, { price: 9 }), behavior, 2)
    await simulation.run(() => simulation.sendMany(8000, () => 40, body))
    expect(simulation.results.every(({ endpointId }) => endpointId !== null)).toBe(true)
    const tried = simulation.results.flatMap((served) => served.attempts).filter(({ id }) => id === idOf(0))
    const duringOutage = tried.filter(({ at }) => at >= outage.from && at < outage.to)
    // Requests in flight at its start, the few that detect it, and the probes after 30 and 90 seconds.
    expect(duringOutage.length).toBeLessThanOrEqual(12)
    for (const [index, trial] of duringOutage.entries()) {
      const before = duringOutage[index - 1]
      if (before && trial.at > outage.from + 5 * second)
        expect(trial.at).toBeGreaterThanOrEqual(before.endedAt)
    }
    const back = tried.find(({ at }) => at >= outage.to)?.at ?? Number.POSITIVE_INFINITY
    expect(back - outage.to).toBeLessThanOrEqual(90 * second)
    // An endpoint that failed within thirty seconds ranks last; after that its share is 81 in 82.
    const later = simulation.results.filter(({ at }) => at > back + 31 * second)
    expect(later.length).toBeGreaterThan(1000)
    expect(isLikely(firstTried(later, 0).length, later.length, 81 / 82)).toBe(true)
  })

  test('a flapping endpoint is ejected for longer and longer', async () => {
    const behavior: EndpointBehavior = ({ endpoint }) => {
      const isUp = Math.floor(simulation.elapsed / (40 * second)) % 2 === 0
      return endpoint.tag === 'p0' && !isUp ? broken : fine
    }
    const simulation: Simulation = new Simulation(catalogOf({ price: 1 }, { price: 50 }), behavior, 3)
    await simulation.run(() => simulation.sendMany(12_000, () => 100, body))
    const failures = simulation.results.flatMap(({ attempts }) => attempts).filter(({ failed }) => failed)
    expect(simulation.results.every(({ endpointId }) => endpointId !== null)).toBe(true)
    // Twenty minutes have fifteen such outages: a fixed ejection of 30 s would detect each of them again.
    expect(failures.length).toBeLessThanOrEqual(5 * 7)
  })

  test('a model does not lose its last provider: while all are ejected, all are tried', async () => {
    const behavior: EndpointBehavior = () => (simulation.elapsed < 20 * second ? broken : fine)
    const simulation: Simulation = new Simulation(catalogOf({ price: 1 }, { price: 2 }), behavior, 4)
    await simulation.run(() => simulation.sendMany(300, () => 100, body))
    const [early, late] = [
      simulation.results.filter(({ at }) => at < 20 * second - 200),
      simulation.results.filter(({ at }) => at >= 20 * second),
    ]
    expect(early.every(({ endpointId, attempts }) => endpointId === null && attempts.length >= 1)).toBe(true)
    const desperate = early.filter(({ attempts }) => attempts[0]?.why === 'ejected')
    expect(desperate.length).toBeGreaterThan(100)
    expect(desperate.every(({ attempts }) => attempts.length === 2)).toBe(true)
    expect(late.every(({ endpointId }) => endpointId !== null)).toBe(true)
  })
})

describe('conversations', () => {
  const caching = Array.from({ length: 5 }, () => ({ price: 1, caches: true }))
  const conversation = (index: number) => ({ model: 'made/model', session_id: `conversation ${index}` })
  const conversationCount = 200

  /** The endpoint of each conversation in each of its turns. */
  async function turnsOf(
    pausesMs: number[],
    buildBody: (index: number) => object,
    behavior: EndpointBehavior = () => fine,
  ) {
    const simulation = new Simulation(catalogOf(...caching), behavior, 5)
    const turns: (string | null)[][] = []
    await simulation.run(async () => {
      for (const pauseMs of [0, ...pausesMs]) {
        await simulation.timeline.sleep(pauseMs)
        const served = await simulation.sendMany(
          conversationCount,
          () => 0,
          (index) => ({ ...buildBody(index) }),
        )
        turns.push(served.map(({ endpointId }) => endpointId))
      }
    })
    return turns
  }

  const moved = (turns: (string | null)[][], from: number, to: number) =>
    turns[from]?.filter((by, index) => by !== turns[to]?.[index]).length ?? 0

  test('a session stays on its endpoint until it is idle for ten minutes', async () => {
    const nearly = 10 * minute - second
    const turns = await turnsOf([nearly, nearly, nearly, 10 * minute], conversation)
    expect(moved(turns, 0, 3)).toBe(0)
    expect(isLikely(moved(turns, 3, 4), conversationCount, 0.8)).toBe(true)
  })

  test('without a session id a conversation is sticky only after a cache hit', async () => {
    const beginning = (index: number) => ({
      model: 'made/model',
      messages: [{ role: 'user', content: `About ${index}` }],
    })
    const cached: EndpointBehavior = () => ({ ...fine, cacheRead: 100 })
    expect(moved(await turnsOf([second], beginning, cached), 0, 1)).toBe(0)
    expect(isLikely(moved(await turnsOf([second], beginning), 0, 1), conversationCount, 0.8)).toBe(true)
  })

  test('provider.order overrides stickiness', async () => {
    const ordered = (index: number) => ({ ...conversation(index), provider: { order: [`p${index % 5}`] } })
    const turns = await turnsOf([second], ordered)
    expect(turns[1]).toEqual(Array.from({ length: conversationCount }, (_, index) => idOf(index % 5)))
  })

  test('a session leaves an endpoint that fails, and stays where it went', async () => {
    const behavior: EndpointBehavior = ({ endpoint }, now) =>
      endpoint.tag === 'p0' && now > 1_800_000_000_500 + 30 * second ? broken : fine
    const turns = await turnsOf([minute, 5 * minute], conversation, behavior)
    expect(turns[1]).not.toContain(idOf(0))
    expect(moved(turns, 1, 2)).toBe(0)
  })
})

describe('percentiles', () => {
  const medians = [800, 200, 400]
  const rates = [20, 50, 200]
  const slow: EndpointBehavior = ({ endpoint }, _, random) => {
    const index = Number(endpoint.tag.slice(1))
    return {
      firstTokenMs: sampleLogNormal(random, medians[index] ?? 0, 0.5),
      tokens: 100,
      tokensPerSecond: sampleLogNormal(random, rates[index] ?? 0, 0.3),
    }
  }
  const equal = medians.map(() => ({ price: 1 }))

  async function warmed(): Promise<Simulation> {
    const simulation = new Simulation(catalogOf(...equal), slow, 6)
    await simulation.run(() => simulation.sendMany(2000, () => 140, body))
    return simulation
  }

  test('of latency are those of the last five minutes, to a tenth', async () => {
    const simulation = await warmed()
    const { tried } = { tried: simulation.results.flatMap((served) => served.attempts) }
    for (const index of medians.keys()) {
      const times = tried
        .filter(({ id }) => id === idOf(index))
        .map(({ at, endedAt }) => endedAt - at)
        .sort((a, b) => a - b)
      const measured = simulation.gateway.routing.health
        .find(idOf(index))
        ?.getSpeed(simulation.timeline.now()).latency
      for (const [name, share] of [
        ['p50', 0.5],
        ['p75', 0.75],
        ['p90', 0.9],
        ['p99', 0.99],
      ] as const) {
        const exact = times[Math.ceil(share * times.length) - 1] ?? 0
        expect(Math.abs((measured?.[name] ?? 0) / exact - 1)).toBeLessThan(0.1)
      }
    }
  })

  test.each([
    [{ sort: 'latency' }, ['p1', 'p2', 'p0']],
    [{ sort: 'throughput' }, ['p2', 'p1', 'p0']],
    [{ sort: { by: 'latency' } }, ['p1', 'p2', 'p0']],
  ])('%j puts the endpoints in the order the behavior has them', async (provider, order) => {
    const simulation = await warmed()
    const served = await simulation.run(() => simulation.send({ model: 'made/model', provider }))
    expect(served.attempts[0]?.id).toBe(`made/model ${order[0]}`)
    const ids = order.map((tag) => `made/model ${tag}`)
    for (const id of ids.slice(0, 2)) {
      const health = simulation.gateway.routing.health.getOrCreate(id)
      for (let count = 0; count < 5; count++)
        health.recordFailure(simulation.timeline.now(), { kind: 'server' })
    }
    const next = await simulation.run(() => simulation.send({ model: 'made/model', provider }))
    expect(next.attempts[0]?.id).toBe(ids[2] ?? '')
  })

  test.each([
    [{ preferred_max_latency: 0.3 }, ['p1']],
    [{ preferred_max_latency: { p99: 1 } }, ['p1']],
    [{ preferred_max_latency: { p50: 0.6, p99: 10 } }, ['p1', 'p2']],
    [{ preferred_min_throughput: 100 }, ['p2']],
    [{ preferred_min_throughput: { p50: 30 } }, ['p1', 'p2']],
    [{ preferred_min_throughput: 30, preferred_max_latency: 0.3 }, ['p1']],
    [{ preferred_max_latency: 0.001 }, ['p0', 'p1', 'p2']],
  ])('%j: what is slower is tried last, and tried all the same', async (provider, preferred) => {
    const simulation = await warmed()
    const before = simulation.results.length
    await simulation.run(() =>
      simulation.sendMany(
        400,
        () => 0,
        () => ({ model: 'made/model', provider }),
      ),
    )
    const firsts = new Set(simulation.results.slice(before).map(({ attempts }) => attempts[0]?.id))
    expect([...firsts].sort()).toEqual(preferred.map((tag) => `made/model ${tag}`))
  })

  test('an untried endpoint counts as average, and so is tried', async () => {
    const simulation = new Simulation(catalogOf(...equal), () => broken, 7)
    const { health } = simulation.gateway.routing
    const now = simulation.timeline.now()
    health.getOrCreate(idOf(0)).recordSuccess(now, { firstTokenMs: 800, tokensPerSecond: 1 })
    health.getOrCreate(idOf(1)).recordSuccess(now, { firstTokenMs: 200, tokensPerSecond: 1 })
    const served = await simulation.run(() =>
      simulation.send({ model: 'made/model', provider: { sort: 'latency' } }),
    )
    expect(served.attempts.map(({ id }) => id)).toEqual([1, 2, 0].map(idOf))
  })
})
