import type { Candidate, Why } from './candidate.ts'
import type { EndpointHealth, Health, Speed } from './health.ts'
import { type Names, placeIn } from './names.ts'
import type { Lanes, Sort, Wanted } from './wanted.ts'

/** What is known of the world when a request comes. */
export interface World {
  health: Health
  /** From 0 to 1, 1 not included. */
  random: () => number
  now: number
}

/** How the candidates of one kind are put in order. */
export interface Ranking {
  order: Names | null
  sort: Sort | null
  lanes: Lanes
  /** The id of the endpoint that answered the conversation last. */
  sticky: string | null
  hasTools: boolean
  preferences: Wanted['preferences']
}

type Measure = (health: EndpointHealth | null) => number | null

/** Best first. `order` stands before `sort`, `sort` before balancing; what is too slow goes to the end. */
export function ranked(candidates: Candidate[], ranking: Ranking, world: World): Candidate[] {
  const { order, sort, lanes } = ranking
  let list = candidates
  if (order && order.length > 0) list = inOrder(list, order)
  else if (sort) list = sorted(list, sort, world)
  else if (lanes.priority === 'first') list = sorted(list, 'throughput', world)
  else if (lanes.flex === 'only') list = byPrice(list)
  else list = balanced(list, ranking, world)
  if (lanes.priority === 'first') list = parted(list, ({ endpoint }) => endpoint.service_tier === 'priority')
  return slowLast(list, ranking, world)
}

/** Those `order` names, in its order; then the rest, cheapest first. */
function inOrder(list: Candidate[], order: Names): Candidate[] {
  const places = new Map(list.map((candidate) => [candidate, placeIn(order, candidate.endpoint)]))
  const place = (candidate: Candidate) => {
    const at = places.get(candidate) ?? -1
    return at === -1 ? order.length : at
  }
  return byPrice(list)
    .sort((a, b) => place(a) - place(b))
    .map((candidate) => marked(candidate, place(candidate) < order.length ? 'order' : 'price'))
}

function sorted(list: Candidate[], sort: Sort, world: World): Candidate[] {
  if (sort === 'price') return byPrice(list).map((candidate) => marked(candidate, 'price'))
  const measures = measuresOf[sort](world.now)
  const values = measures.map((measure) => valuesOf(list, measure, world))
  return byPrice(list)
    .sort((a, b) => {
      for (const value of values) {
        const difference = (value.get(b) ?? 0) - (value.get(a) ?? 0)
        if (difference !== 0) return difference
      }
      return 0
    })
    .map((candidate) => marked(candidate, sort))
}

/** What is compared, the most telling first; more is better. */
const measuresOf: Record<Exclude<Sort, 'price'>, (now: number) => Measure[]> = {
  throughput: (now) => [(health) => health?.speed(now).throughput?.p50 ?? null],
  latency: (now) => [(health) => negative(health?.speed(now).latency?.p50)],
  exacto: (now) => [
    (health) => health?.toolSuccess(now) ?? null,
    (health) => health?.speed(now).throughput?.p50 ?? null,
  ],
}

function negative(value: number | undefined): number | null {
  return value === undefined ? null : -value
}

/** An endpoint nothing is known of is taken for an average one: it would never be tried otherwise. */
function valuesOf(list: Candidate[], measure: Measure, { health }: World): Map<Candidate, number> {
  const known = new Map<Candidate, number>()
  for (const candidate of list) {
    const value = measure(health.known(candidate.id))
    if (value !== null) known.set(candidate, value)
  }
  let sum = 0
  for (const value of known.values()) sum += value
  const average = known.size > 0 ? sum / known.size : 0
  for (const candidate of list) if (!known.has(candidate)) known.set(candidate, average)
  return known
}

/** Two unknown prices differ by NaN: neither is the cheaper one. */
function byPrice(list: readonly Candidate[]): Candidate[] {
  return list.toSorted((a, b) => a.endpoint.price - b.endpoint.price || 0)
}

/** The endpoint of the conversation, then one that is drawn, then the others by price; what failed lately comes last. */
function balanced(list: Candidate[], ranking: Ranking, world: World): Candidate[] {
  if (list.length < 2) return list
  const unstable: Candidate[] = []
  const poor: Candidate[] = []
  const good: Candidate[] = []
  const bar = ranking.hasTools ? toolBar(list, world) : null
  for (const candidate of byPrice(list)) {
    const health = world.health.known(candidate.id)
    if (health?.isUnstable(world.now)) unstable.push(marked(candidate, 'unstable'))
    else if (bar !== null && (health?.toolSuccess(world.now) ?? 1) < bar) {
      poor.push(marked(candidate, 'poor_tool_calls'))
    } else good.push(candidate)
  }
  const first = stuck(good, ranking.sticky) ?? drawn(good, world.random)
  const rest = good.filter((candidate) => candidate !== first)
  return [...(first ? [first] : []), ...rest, ...poor, ...unstable]
}

function stuck(list: Candidate[], sticky: string | null): Candidate | undefined {
  const found = sticky === null ? undefined : list.find(({ id }) => id === sticky)
  return found && marked(found, 'sticky')
}

/** By 1/price². What is free goes before what costs, and a price nobody knows comes last. */
function drawn(list: readonly Candidate[], random: () => number): Candidate | undefined {
  const [cheapest] = list
  // A key of one's own is used in the order its owner gave.
  if (!cheapest || cheapest.ownKey) return cheapest
  const { price } = cheapest.endpoint
  const isEven = price === 0 || price === Number.POSITIVE_INFINITY
  const pool = isEven ? list.filter(({ endpoint }) => endpoint.price === price) : list
  const weightOf = ({ endpoint }: Candidate) => (isEven ? 1 : (price / endpoint.price) ** 2)
  const total = pool.reduce((sum, candidate) => sum + weightOf(candidate), 0)
  for (const candidate of pool) candidate.share = weightOf(candidate) / total
  let point = random()
  for (const candidate of pool) {
    point -= candidate.share ?? 0
    if (point < 0) return candidate
  }
  return cheapest
}

/** So far behind the best, an endpoint's tool calls are called poor. */
const tolerated = 0.05

function toolBar(list: Candidate[], { health, now }: World): number | null {
  let best: number | null = null
  for (const { id } of list) {
    const success = health.known(id)?.toolSuccess(now) ?? null
    if (success !== null && (best === null || success > best)) best = success
  }
  return best === null ? null : best - tolerated
}

/** Both halves keep their order. */
function parted(list: Candidate[], isFirst: (candidate: Candidate) => boolean): Candidate[] {
  return [...list.filter(isFirst), ...list.filter((candidate) => !isFirst(candidate))]
}

function slowLast(list: Candidate[], { preferences }: Ranking, { health, now }: World): Candidate[] {
  const { preferred_min_throughput: least, preferred_max_latency: most } = preferences
  if (least == null && most == null) return list
  const slow = new Set(
    list.filter(({ id }) => {
      const speed = health.known(id)?.speed(now)
      return speed !== undefined && isSlow(speed, least, most)
    }),
  )
  if (slow.size === 0) return list
  if (slow.size < list.length) passShares(list, slow)
  return parted(list, (candidate) => !slow.has(candidate)).map((candidate) =>
    slow.has(candidate) ? marked(candidate, 'too_slow') : candidate,
  )
}

/** Where the draw hits what is too slow, the cheapest of the others is first instead. */
function passShares(list: Candidate[], slow: ReadonlySet<Candidate>): void {
  const others = list.filter((candidate) => !slow.has(candidate))
  const heir = byPrice(others).find(({ share }) => share !== null) ?? others[0]
  for (const candidate of slow) {
    if (!heir || candidate.share === null) continue
    heir.share = (heir.share ?? 0) + candidate.share
    candidate.share = 0
  }
}

type Cutoffs = Wanted['preferences']['preferred_max_latency']

/** Latencies are wished in seconds and measured in milliseconds. */
function isSlow({ throughput, latency }: Speed, least: Cutoffs, most: Cutoffs): boolean {
  return (
    cutoffsOf(least).some(([p, value]) => throughput !== null && throughput[p] < value) ||
    cutoffsOf(most).some(([p, value]) => latency !== null && latency[p] > value * 1000)
  )
}

const percentiles = ['p50', 'p75', 'p90', 'p99'] as const

/** A number is meant for the median. */
function cutoffsOf(wish: Cutoffs): [(typeof percentiles)[number], number][] {
  if (wish == null) return []
  if (typeof wish === 'number') return [['p50', wish]]
  return percentiles.flatMap((p) => (wish[p] == null ? [] : [[p, wish[p]]]))
}

/** A key of one's own, and that all others are broken too, say more about its place than what it was compared by. */
function marked(candidate: Candidate, why: Why): Candidate {
  if (!candidate.ownKey && candidate.why !== 'ejected') candidate.why = why
  return candidate
}
