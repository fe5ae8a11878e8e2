import type { Candidate, Why } from './candidate.ts'
import type { EndpointHealth, Health, Speed } from './health.ts'
import { type Names, placeIn } from './names.ts'
import type { Lanes, Sort, Wanted } from './wanted.ts'

/** What is known of the world when a request comes. */
export interface World {
  health: Health
  /** From 0 to 1, 1 not included; null: nothing is drawn, and who may win stands in the order of price. */
  random: (() => number) | null
  now: number
}

/** How the candidates of one kind are put in order. */
export interface Ranking {
  order: Names | null
  sort: Sort | null
  lanes: Lanes
  /** The id of the endpoint that answered the conversation last; only balancing asks for it. */
  sticky: () => string | null
  hasTools: boolean
  preferences: Wanted['preferences']
}

type Measure = (health: EndpointHealth | null) => number | null

/** Best first. What is slower than the request would like comes after everything else. */
export function ranked(candidates: Candidate[], ranking: Ranking, world: World): Candidate[] {
  const isSlow = slownessOf(ranking.preferences, world.now)
  if (!isSlow) return placed(candidates, ranking, world)
  const fast = candidates.filter((candidate) => !isSlow(candidate))
  const slow = placed(candidates.filter(isSlow), ranking, world)
  for (const candidate of slow) {
    marked(candidate, 'too_slow')
    if (fast.length > 0) candidate.share = null
  }
  return [...placed(fast, ranking, world), ...slow]
}

/** `order` stands before `sort`, `sort` before balancing; a lane that was asked for stands first at its place. */
function placed(list: Candidate[], ranking: Ranking, world: World): Candidate[] {
  const { order, sort, lanes } = ranking
  if (order && order.length > 0) return inOrder(list, order, lanes)
  if (lanes.priority === 'first') return parted(sorted(list, sort ?? 'throughput', world), isPriority)
  if (sort) return sorted(list, sort, world)
  return lanes.flex === 'only' ? byPrice(list) : balanced(list, ranking, world)
}

function isPriority({ endpoint }: Candidate): boolean {
  return endpoint.service_tier === 'priority'
}

/** Those `order` names, in its order; then the rest, cheapest first. */
function inOrder(list: Candidate[], order: Names, lanes: Lanes): Candidate[] {
  const cheapest = byPrice(list)
  const placed = (lanes.priority === 'first' ? parted(cheapest, isPriority) : cheapest).map((candidate) => {
    const place = placeIn(order, candidate.endpoint, lanes)
    const isListed = place !== -1
    return {
      candidate: marked(candidate, isListed ? 'order' : 'price'),
      value: isListed ? -place : -order.length,
    }
  })
  return highestFirst(placed)
}

function sorted(list: Candidate[], sort: Sort, world: World): Candidate[] {
  let result = byPrice(list).map((candidate) => marked(candidate, sort))
  if (sort === 'price') return result
  for (const measure of measuresOf[sort](world.now)) result = highestFirst(rated(result, measure))
  return result
}

interface Rated {
  candidate: Candidate
  value: number
}

/** Equal ones keep their order. */
function highestFirst(list: Rated[]): Candidate[] {
  return list.sort((a, b) => b.value - a.value).map(({ candidate }) => candidate)
}

/** What is compared, the most telling last; more is better. */
const measuresOf: Record<Exclude<Sort, 'price'>, (now: number) => Measure[]> = {
  throughput: (now) => [(health) => health?.speed(now).throughput?.p50 ?? null],
  latency: (now) => [(health) => negative(health?.speed(now).latency?.p50)],
  exacto: (now) => [
    (health) => health?.speed(now).throughput?.p50 ?? null,
    (health) => health?.toolSuccess(now) ?? null,
  ],
}

function negative(value: number | undefined): number | null {
  return value === undefined ? null : -value
}

/** An endpoint nothing is known of is taken for an average one: it would never be tried otherwise. */
function rated(list: readonly Candidate[], measure: Measure): Rated[] {
  const known = list.map(({ health }) => measure(health))
  let sum = 0
  let count = 0
  for (const value of known) {
    if (value === null) continue
    sum += value
    count += 1
  }
  const average = count > 0 ? sum / count : 0
  return list.map((candidate, place) => ({ candidate, value: known[place] ?? average }))
}

/** Two unknown prices differ by NaN: neither is the cheaper one. Models have their endpoints in this order already. */
function byPrice(list: readonly Candidate[]): Candidate[] {
  const copy = list.slice()
  const isDone = list.every((one, place) => place === 0 || priceOf(list[place - 1]) <= one.endpoint.price)
  return isDone ? copy : copy.sort((a, b) => a.endpoint.price - b.endpoint.price || 0)
}

function priceOf(candidate: Candidate | undefined): number {
  return candidate?.endpoint.price ?? Number.NEGATIVE_INFINITY
}

/** The endpoint of the conversation, then one that is drawn, then the others by price; what failed lately comes last. */
function balanced(list: Candidate[], ranking: Ranking, world: World): Candidate[] {
  if (list.length < 2) return list
  const unstable: Candidate[] = []
  const poor: Candidate[] = []
  const good: Candidate[] = []
  const bar = ranking.hasTools ? toolBar(list, world) : null
  for (const candidate of byPrice(list)) {
    const { health } = candidate
    if (health?.isUnstable(world.now)) unstable.push(marked(candidate, 'unstable'))
    else if (bar !== null && (health?.toolSuccess(world.now) ?? 1) < bar) {
      poor.push(marked(candidate, 'poor_tool_calls'))
    } else good.push(candidate)
  }
  const first = stuck(good, ranking.sticky()) ?? drawn(good, world.random)
  if (first && first !== good[0]) {
    good.splice(good.indexOf(first), 1)
    good.unshift(first)
  }
  return good.length === list.length ? good : [...good, ...poor, ...unstable]
}

function stuck(list: Candidate[], sticky: string | null): Candidate | undefined {
  const found = sticky === null ? undefined : list.find(({ id }) => id === sticky)
  return found && marked(found, 'sticky')
}

/** By 1/price². What is free goes before what costs, and a price nobody knows comes last. */
function drawn(list: readonly Candidate[], random: World['random']): Candidate | undefined {
  const [cheapest] = list
  // A key of one's own is used in the order its owner gave.
  if (!cheapest || cheapest.ownKey) return cheapest
  const { price } = cheapest.endpoint
  const isEven = price === 0 || price === Number.POSITIVE_INFINITY
  const pool = isEven ? list.filter(({ endpoint }) => endpoint.price === price) : list
  const weightOf = ({ endpoint }: Candidate) => (isEven ? 1 : (price / endpoint.price) ** 2)
  let total = 0
  for (const candidate of pool) total += weightOf(candidate)
  for (const candidate of pool) candidate.share = weightOf(candidate) / total
  if (!random) return cheapest
  let point = random()
  for (const candidate of pool) {
    point -= candidate.share ?? 0
    if (point < 0) return candidate
  }
  return cheapest
}

/** So far behind the best, an endpoint's tool calls are called poor. */
const tolerated = 0.05

function toolBar(list: Candidate[], { now }: World): number | null {
  let best: number | null = null
  for (const { health } of list) {
    const success = health?.toolSuccess(now) ?? null
    if (success !== null && (best === null || success > best)) best = success
  }
  return best === null ? null : best - tolerated
}

/** Both halves keep their order. */
function parted(list: Candidate[], isFirst: (candidate: Candidate) => boolean): Candidate[] {
  return [...list.filter(isFirst), ...list.filter((candidate) => !isFirst(candidate))]
}

/** Null when the request has no such wish. What nobody has measured is not slow. */
function slownessOf(
  { preferred_min_throughput: least, preferred_max_latency: most }: Ranking['preferences'],
  now: number,
): ((candidate: Candidate) => boolean) | null {
  if (least == null && most == null) return null
  return ({ health }) => health !== null && isSlow(health.speed(now), least, most)
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
