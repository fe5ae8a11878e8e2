import type { BenchmarkSnapshot } from '../../catalog/benchmarks/snapshot.ts'
import type { Speed } from '../../catalog/health/endpoint-stats.ts'
import type { HealthRegistry } from '../../catalog/health/health-registry.ts'
import type { Candidate, RankingReason } from './candidate.ts'
import type { RoutingQuery, Sort, TierAccess } from './query.ts'
import { findSelectorIndex, type SelectorList } from './selectors.ts'

/** The state of this process that a decision depends on. */
export interface RoutingState {
  health: HealthRegistry
  benchmarks: Pick<BenchmarkSnapshot, 'scoresOf' | 'endpointQualities'>
  /** Draws a number from 0 up to but not including 1; null: no candidate is drawn, and they stay in order of price. */
  random: (() => number) | null
  now: number
}

/** Rules for ranking candidates that use the same kind of credential. */
export interface RankingOptions {
  order: SelectorList | null
  sort: Sort | null
  tiers: TierAccess
  /** The id of the candidate that served the last turn; used by load balancing only. */
  findStickyId: () => string | null
  hasTools: boolean
  preferences: RoutingQuery['preferences']
}

type Measure = (candidate: Candidate) => number | null

/** Ranks candidates, best first. Those slower than the preferred speed come last. */
export function rankCandidates(
  candidates: Candidate[],
  ranking: RankingOptions,
  state: RoutingState,
): Candidate[] {
  const isSlow = createSlownessCheck(ranking.preferences, state.now)
  if (!isSlow) return sortCandidates(candidates, ranking, state)
  const fast = candidates.filter((candidate) => !isSlow(candidate))
  const slow = sortCandidates(candidates.filter(isSlow), ranking, state)
  for (const candidate of slow) {
    setRankingReason(candidate, 'too_slow')
    if (fast.length > 0) candidate.share = null
  }
  return [...sortCandidates(fast, ranking, state), ...slow]
}

/** `order` overrides `sort`, and `sort` overrides load balancing; a requested tier ranks first among equals. */
function sortCandidates(candidates: Candidate[], ranking: RankingOptions, state: RoutingState): Candidate[] {
  const { order, sort, tiers } = ranking
  if (order && order.length > 0) return sortByOrder(candidates, order, tiers)
  if (tiers.priority === 'first')
    return moveToFront(sortByMetric(candidates, sort ?? 'throughput', state), isPriority)
  if (sort) return sortByMetric(candidates, sort, state)
  return tiers.flex === 'only' ? sortByPrice(candidates) : balanceCandidates(candidates, ranking, state)
}

function isPriority({ endpoint }: Candidate): boolean {
  return endpoint.service_tier === 'priority'
}

/** The endpoints listed in `order`, then the rest, cheapest first. */
function sortByOrder(candidates: Candidate[], order: SelectorList, tiers: TierAccess): Candidate[] {
  const cheapest = sortByPrice(candidates)
  const scored = (tiers.priority === 'first' ? moveToFront(cheapest, isPriority) : cheapest).map(
    (candidate) => {
      const index = findSelectorIndex(order, candidate.endpoint, tiers)
      const isListed = index !== -1
      return {
        candidate: setRankingReason(candidate, isListed ? 'order' : 'price'),
        value: isListed ? -index : -order.length,
      }
    },
  )
  return sortHighestFirst(scored)
}

function sortByMetric(candidates: Candidate[], sort: Sort, state: RoutingState): Candidate[] {
  let result = sortByPrice(candidates).map((candidate) => setRankingReason(candidate, sort))
  if (sort === 'price') return result
  for (const measures of measuresBySort[sort](state))
    result = sortHighestFirst(scoreCandidates(result, measures))
  return result
}

interface ScoredCandidate {
  candidate: Candidate
  value: number
}

/** Sorts by value; equal candidates keep their order. */
function sortHighestFirst(candidates: ScoredCandidate[]): Candidate[] {
  return candidates.sort((a, b) => b.value - a.value).map(({ candidate }) => candidate)
}

/** Measures that are compared, the decisive ones last; more is better. Measures of a group are added. */
const measuresBySort: Record<Exclude<Sort, 'price'>, (state: RoutingState) => Measure[][]> = {
  throughput: ({ now }) => [[({ health }) => health?.getSpeed(now).throughput?.p50 ?? null]],
  latency: ({ now }) => [[({ health }) => negate(health?.getSpeed(now).latency?.p50)]],
  exacto: ({ now, benchmarks }) => [
    [({ health }) => health?.getSpeed(now).throughput?.p50 ?? null],
    [
      ({ health }) => health?.getToolSuccess(now) ?? null,
      ({ model, endpoint }) => benchmarks.endpointQualities.find(model, endpoint, now)?.relative ?? null,
      ({ model }) => benchmarks.scoresOf(model).toolCalling,
    ],
  ],
}

function negate(value: number | undefined): number | null {
  return value === undefined ? null : -value
}

function scoreCandidates(candidates: readonly Candidate[], measures: readonly Measure[]): ScoredCandidate[] {
  const scored = candidates.map((candidate) => ({ candidate, value: 0 }))
  for (const measure of measures)
    measureCandidates(candidates, measure).forEach((value, index) => {
      const one = scored[index]
      if (one) one.value += value
    })
  return scored
}

/** An endpoint without measurements counts as average: otherwise it would never be tried. */
function measureCandidates(candidates: readonly Candidate[], measure: Measure): number[] {
  const known = candidates.map(measure)
  let sum = 0
  let count = 0
  for (const value of known) {
    if (value === null) continue
    sum += value
    count += 1
  }
  const average = count > 0 ? sum / count : 0
  return known.map((value) => value ?? average)
}

/** The difference of two unknown prices is NaN: they count as equal. Endpoints are usually in this order already. */
function sortByPrice(candidates: readonly Candidate[]): Candidate[] {
  const copy = candidates.slice()
  const isSorted = candidates.every(
    (one, index) => index === 0 || priceOf(candidates[index - 1]) <= one.endpoint.price,
  )
  return isSorted ? copy : copy.sort((a, b) => a.endpoint.price - b.endpoint.price || 0)
}

function priceOf(candidate: Candidate | undefined): number {
  return candidate?.endpoint.price ?? Number.NEGATIVE_INFINITY
}

/** The sticky endpoint or one drawn by price, then the others by price; unstable endpoints come last. */
function balanceCandidates(
  candidates: Candidate[],
  ranking: RankingOptions,
  state: RoutingState,
): Candidate[] {
  if (candidates.length < 2) return candidates
  const unstable: Candidate[] = []
  const poor: Candidate[] = []
  const good: Candidate[] = []
  const minToolSuccess = ranking.hasTools ? computeMinToolSuccess(candidates, state) : null
  for (const candidate of sortByPrice(candidates)) {
    const { health } = candidate
    if (health?.isUnstable(state.now)) unstable.push(setRankingReason(candidate, 'unstable'))
    else if (ranking.hasTools && isPoorWithTools(candidate, minToolSuccess, state)) {
      poor.push(setRankingReason(candidate, 'poor_tool_calls'))
    } else good.push(candidate)
  }
  const first = findSticky(good, ranking.findStickyId()) ?? drawByPrice(good, state.random)
  if (first && first !== good[0]) {
    good.splice(good.indexOf(first), 1)
    good.unshift(first)
  }
  return good.length === candidates.length ? good : [...good, ...poor, ...unstable]
}

function findSticky(candidates: Candidate[], stickyId: string | null): Candidate | undefined {
  const candidate = stickyId === null ? undefined : candidates.find(({ id }) => id === stickyId)
  return candidate && setRankingReason(candidate, 'sticky')
}

/** Weighted by 1/price². Free endpoints come before paid ones, unknown prices last. */
function drawByPrice(
  candidates: readonly Candidate[],
  random: RoutingState['random'],
): Candidate | undefined {
  const [cheapest] = candidates
  // BYOK keys are used in the order their owner set.
  if (!cheapest || cheapest.byokKey) return cheapest
  const { price } = cheapest.endpoint
  const isUniform = price === 0 || price === Number.POSITIVE_INFINITY
  const pool = isUniform ? candidates.filter(({ endpoint }) => endpoint.price === price) : candidates
  const weightOf = ({ endpoint }: Candidate) => (isUniform ? 1 : (price / endpoint.price) ** 2)
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

/** An endpoint further below the best success rate is ranked lower. */
const toolSuccessTolerance = 0.05

/** Whether its calls are invalid more often than at the best endpoint or than before, or benchmarks rate it lower. */
function isPoorWithTools(
  { model, endpoint, health }: Candidate,
  minToolSuccess: number | null,
  { now, benchmarks }: RoutingState,
): boolean {
  const quality = health?.getToolCallQuality(now)
  if (quality?.isDegraded) return true
  if (minToolSuccess !== null && (quality?.success ?? 1) < minToolSuccess) return true
  return benchmarks.endpointQualities.find(model, endpoint, now)?.isDegraded ?? false
}

/** The success rate below which an endpoint is ranked lower; null if none is known. */
export function computeMinToolSuccess(
  candidates: readonly Candidate[],
  { now }: Pick<RoutingState, 'now'>,
): number | null {
  let best: number | null = null
  for (const { health } of candidates) {
    const success = health?.getToolSuccess(now) ?? null
    if (success !== null && (best === null || success > best)) best = success
  }
  return best === null ? null : best - toolSuccessTolerance
}

/** Stable: both parts keep their order. */
function moveToFront(candidates: Candidate[], isFirst: (candidate: Candidate) => boolean): Candidate[] {
  return [...candidates.filter(isFirst), ...candidates.filter((candidate) => !isFirst(candidate))]
}

/** Creates the check for a preferred speed; null if there is none. An endpoint without measurements is not slow. */
function createSlownessCheck(
  {
    preferred_min_throughput: minThroughput,
    preferred_max_latency: maxLatency,
  }: RankingOptions['preferences'],
  now: number,
): ((candidate: Candidate) => boolean) | null {
  if (minThroughput == null && maxLatency == null) return null
  return ({ health }) => health !== null && isSlow(health.getSpeed(now), minThroughput, maxLatency)
}

type Cutoffs = RoutingQuery['preferences']['preferred_max_latency']

/** Preferred latencies are in seconds, measured ones in milliseconds. */
function isSlow({ throughput, latency }: Speed, minThroughput: Cutoffs, maxLatency: Cutoffs): boolean {
  return (
    parseCutoffs(minThroughput).some(([p, value]) => throughput !== null && throughput[p] < value) ||
    parseCutoffs(maxLatency).some(([p, value]) => latency !== null && latency[p] > value * 1000)
  )
}

const percentiles = ['p50', 'p75', 'p90', 'p99'] as const

/** A plain number applies to the median. */
function parseCutoffs(preferred: Cutoffs): [(typeof percentiles)[number], number][] {
  if (preferred == null) return []
  if (typeof preferred === 'number') return [['p50', preferred]]
  return percentiles.flatMap((p) => (preferred[p] == null ? [] : [[p, preferred[p]]]))
}

/** A BYOK key, and an ejection, are more specific reasons than the measure it was ranked by. */
function setRankingReason(candidate: Candidate, reason: RankingReason): Candidate {
  if (!candidate.byokKey && candidate.why !== 'ejected') candidate.why = reason
  return candidate
}
