import { describe, expect, test } from 'bun:test'
import { logNormal } from '../support/random.ts'
import { type MadeEndpoint, madeCatalog } from '../support/routes.ts'
import { isLikely, type Play, type Served, Simulation, type World } from './simulation.ts'

const second = 1000
const minute = 60 * second

const fine: Play = { firstTokenMs: 50, tokens: 10, tokensPerSecond: 100 }
const broken: Play = { afterMs: 20, status: 500 }
const body = () => ({ model: 'made/model' })

/** Endpoints `p0`, `p1`, ... of one model. */
function catalogOf(...endpoints: Omit<MadeEndpoint, 'provider'>[]) {
  const made = endpoints.map((endpoint, place) => ({ ...endpoint, provider: `p${place}` }))
  return madeCatalog([{ id: 'made/model', endpoints: made }])
}

const idOf = (place: number) => `made/model p${place}`

function firstTried(served: readonly Served[], place: number): Served[] {
  return served.filter(({ tried }) => tried[0]?.id === idOf(place))
}

describe('thirty seconds of memory', () => {
  test('one failure keeps an endpoint from being first for thirty seconds, then it has its share again', async () => {
    let failures = 0
    const world: World = ({ endpoint }) => (endpoint.tag === 'p1' && failures++ === 0 ? broken : fine)
    const simulation = new Simulation(catalogOf({ price: 2 }, { price: 2 }), world, 1)
    await simulation.run(() => simulation.arrive(8000, () => 20, body))
    const failedAt =
      simulation.served.flatMap(({ tried }) => tried).find(({ failed }) => failed)?.endedAt ?? 0
    const [during, after] = [0, 31 * second].map((from, place) =>
      simulation.served.filter(
        ({ at }) => at > failedAt + from && (place === 1 || at < failedAt + 30 * second),
      ),
    )
    expect(during?.length).toBeGreaterThan(1400)
    expect(firstTried(during ?? [], 1)).toEqual([])
    expect(isLikely(firstTried(after ?? [], 1).length, after?.length ?? 0, 0.5)).toBe(true)
    expect(simulation.served.every(({ by }) => by !== null)).toBe(true)
  })

  test('an outage ejects an endpoint, one request at a time tries it, and it comes back', async () => {
    const outage = { from: 10 * second, to: 100 * second }
    const world: World = ({ endpoint }) => {
      const { elapsed } = simulation
      return endpoint.tag === 'p0' && elapsed >= outage.from && elapsed < outage.to ? broken : fine
    }
    const simulation: Simulation = new Simulation(catalogOf({ price: 1 }, { price: 9 }), world, 2)
    await simulation.run(() => simulation.arrive(8000, () => 40, body))
    expect(simulation.served.every(({ by }) => by !== null)).toBe(true)
    const tried = simulation.served.flatMap((served) => served.tried).filter(({ id }) => id === idOf(0))
    const duringOutage = tried.filter(({ at }) => at >= outage.from && at < outage.to)
    // Those under way when it began, the few that found out, and the trials after 30 and 90 seconds.
    expect(duringOutage.length).toBeLessThanOrEqual(12)
    for (const [place, trial] of duringOutage.entries()) {
      const before = duringOutage[place - 1]
      if (before && trial.at > outage.from + 5 * second)
        expect(trial.at).toBeGreaterThanOrEqual(before.endedAt)
    }
    const back = tried.find(({ at }) => at >= outage.to)?.at ?? Number.POSITIVE_INFINITY
    expect(back - outage.to).toBeLessThanOrEqual(90 * second)
    // What failed within thirty seconds stands last, and has its share of 81 in 82 after that.
    const later = simulation.served.filter(({ at }) => at > back + 31 * second)
    expect(later.length).toBeGreaterThan(1000)
    expect(isLikely(firstTried(later, 0).length, later.length, 81 / 82)).toBe(true)
  })

  test('an endpoint that comes and goes is left out for longer and longer', async () => {
    const world: World = ({ endpoint }) => {
      const isUp = Math.floor(simulation.elapsed / (40 * second)) % 2 === 0
      return endpoint.tag === 'p0' && !isUp ? broken : fine
    }
    const simulation: Simulation = new Simulation(catalogOf({ price: 1 }, { price: 50 }), world, 3)
    await simulation.run(() => simulation.arrive(12_000, () => 100, body))
    const failures = simulation.served.flatMap(({ tried }) => tried).filter(({ failed }) => failed)
    expect(simulation.served.every(({ by }) => by !== null)).toBe(true)
    // Twenty minutes have fifteen such outages: a fixed half minute would find all of them out anew.
    expect(failures.length).toBeLessThanOrEqual(5 * 7)
  })

  test('a model does not lose its last provider: while all are ejected, all are tried', async () => {
    const world: World = () => (simulation.elapsed < 20 * second ? broken : fine)
    const simulation: Simulation = new Simulation(catalogOf({ price: 1 }, { price: 2 }), world, 4)
    await simulation.run(() => simulation.arrive(300, () => 100, body))
    const [early, late] = [
      simulation.served.filter(({ at }) => at < 20 * second - 200),
      simulation.served.filter(({ at }) => at >= 20 * second),
    ]
    expect(early.every(({ by, tried }) => by === null && tried.length >= 1)).toBe(true)
    const desperate = early.filter(({ tried }) => tried[0]?.why === 'ejected')
    expect(desperate.length).toBeGreaterThan(100)
    expect(desperate.every(({ tried }) => tried.length === 2)).toBe(true)
    expect(late.every(({ by }) => by !== null)).toBe(true)
  })
})

describe('conversations', () => {
  const caching = Array.from({ length: 5 }, () => ({ price: 1, caches: true }))
  const talk = (place: number) => ({ model: 'made/model', session_id: `talk ${place}` })
  const talks = 200

  /** Where each conversation is answered in each of its turns. */
  async function turnsOf(pausesMs: number[], ask: (place: number) => object, world: World = () => fine) {
    const simulation = new Simulation(catalogOf(...caching), world, 5)
    const turns: (string | null)[][] = []
    await simulation.run(async () => {
      for (const pauseMs of [0, ...pausesMs]) {
        await simulation.timeline.sleep(pauseMs)
        const served = await simulation.arrive(
          talks,
          () => 0,
          (place) => ({ ...ask(place) }),
        )
        turns.push(served.map(({ by }) => by))
      }
    })
    return turns
  }

  const moved = (turns: (string | null)[][], from: number, to: number) =>
    turns[from]?.filter((by, place) => by !== turns[to]?.[place]).length ?? 0

  test('a session stays where it was answered, as long as it does not rest for ten minutes', async () => {
    const nearly = 10 * minute - second
    const turns = await turnsOf([nearly, nearly, nearly, 10 * minute], talk)
    expect(moved(turns, 0, 3)).toBe(0)
    expect(isLikely(moved(turns, 3, 4), talks, 0.8)).toBe(true)
  })

  test('without a session a conversation stays after it was seen to be cached, and not before', async () => {
    const beginning = (place: number) => ({
      model: 'made/model',
      messages: [{ role: 'user', content: `About ${place}` }],
    })
    const cached: World = () => ({ ...fine, cacheRead: 100 })
    expect(moved(await turnsOf([second], beginning, cached), 0, 1)).toBe(0)
    expect(isLikely(moved(await turnsOf([second], beginning), 0, 1), talks, 0.8)).toBe(true)
  })

  test('provider.order is stronger than where a session was', async () => {
    const ordered = (place: number) => ({ ...talk(place), provider: { order: [`p${place % 5}`] } })
    const turns = await turnsOf([second], ordered)
    expect(turns[1]).toEqual(Array.from({ length: talks }, (_, place) => idOf(place % 5)))
  })

  test('a session leaves an endpoint that fails, and stays where it went', async () => {
    const world: World = ({ endpoint }, now) =>
      endpoint.tag === 'p0' && now > 1_800_000_000_500 + 30 * second ? broken : fine
    const turns = await turnsOf([minute, 5 * minute], talk, world)
    expect(turns[1]).not.toContain(idOf(0))
    expect(moved(turns, 1, 2)).toBe(0)
  })
})

describe('percentiles', () => {
  const medians = [800, 200, 400]
  const rates = [20, 50, 200]
  const slow: World = ({ endpoint }, _, random) => {
    const place = Number(endpoint.tag.slice(1))
    return {
      firstTokenMs: logNormal(random, medians[place] ?? 0, 0.5),
      tokens: 100,
      tokensPerSecond: logNormal(random, rates[place] ?? 0, 0.3),
    }
  }
  const equal = medians.map(() => ({ price: 1 }))

  async function warmed(): Promise<Simulation> {
    const simulation = new Simulation(catalogOf(...equal), slow, 6)
    await simulation.run(() => simulation.arrive(2000, () => 140, body))
    return simulation
  }

  test('of latency are those of the last five minutes, to a tenth', async () => {
    const simulation = await warmed()
    const { tried } = { tried: simulation.served.flatMap((served) => served.tried) }
    for (const place of medians.keys()) {
      const times = tried
        .filter(({ id }) => id === idOf(place))
        .map(({ at, endedAt }) => endedAt - at)
        .sort((a, b) => a - b)
      const told = simulation.gateway.routing.health
        .known(idOf(place))
        ?.speed(simulation.timeline.now()).latency
      for (const [name, share] of [
        ['p50', 0.5],
        ['p75', 0.75],
        ['p90', 0.9],
        ['p99', 0.99],
      ] as const) {
        const exact = times[Math.ceil(share * times.length) - 1] ?? 0
        expect(Math.abs((told?.[name] ?? 0) / exact - 1)).toBeLessThan(0.1)
      }
    }
  })

  test.each([
    [{ sort: 'latency' }, ['p1', 'p2', 'p0']],
    [{ sort: 'throughput' }, ['p2', 'p1', 'p0']],
    [{ sort: { by: 'latency' } }, ['p1', 'p2', 'p0']],
  ])('%j puts the endpoints in the order the world has them', async (provider, order) => {
    const simulation = await warmed()
    const served = await simulation.run(() => simulation.ask({ model: 'made/model', provider }))
    expect(served.tried[0]?.id).toBe(`made/model ${order[0]}`)
    const ids = order.map((tag) => `made/model ${tag}`)
    for (const id of ids.slice(0, 2)) {
      const health = simulation.gateway.routing.health.of(id)
      for (let count = 0; count < 5; count++) health.failed(simulation.timeline.now(), { kind: 'server' })
    }
    const next = await simulation.run(() => simulation.ask({ model: 'made/model', provider }))
    expect(next.tried[0]?.id).toBe(ids[2] ?? '')
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
    const before = simulation.served.length
    await simulation.run(() =>
      simulation.arrive(
        400,
        () => 0,
        () => ({ model: 'made/model', provider }),
      ),
    )
    const firsts = new Set(simulation.served.slice(before).map(({ tried }) => tried[0]?.id))
    expect([...firsts].sort()).toEqual(preferred.map((tag) => `made/model ${tag}`))
  })

  test('an endpoint nobody has tried is taken for an average one, and so is tried', async () => {
    const simulation = new Simulation(catalogOf(...equal), () => broken, 7)
    const { health } = simulation.gateway.routing
    const now = simulation.timeline.now()
    health.of(idOf(0)).succeeded(now, { firstTokenMs: 800, tokensPerSecond: 1 })
    health.of(idOf(1)).succeeded(now, { firstTokenMs: 200, tokensPerSecond: 1 })
    const served = await simulation.run(() =>
      simulation.ask({ model: 'made/model', provider: { sort: 'latency' } }),
    )
    expect(served.tried.map(({ id }) => id)).toEqual([1, 2, 0].map(idOf))
  })
})
