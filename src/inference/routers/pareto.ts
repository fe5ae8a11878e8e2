import {
  byCodingScore,
  byPrice,
  byStability,
  byStanding,
  byThroughput,
  type Comparison,
  type RouterCandidate,
  type RouterSelection,
  selectRanked,
  sortCandidates,
} from './candidate.ts'

export interface ParetoOptions {
  /** A coding score from 0 to 1. */
  minCodingScore: number
  /** USD per million prompt tokens; selects by price instead of by tier. */
  maxPrice: number | null
  priceSource: 'prompt' | 'weighted_avg'
  /** Whether the fastest model of the tier is chosen instead of the cheapest. */
  prefersSpeed: boolean
}

const codingTiers = ['low', 'medium', 'high'] as const
type CodingTier = (typeof codingTiers)[number]

export function resolveCodingTier(score: number): CodingTier {
  if (score >= 0.66) return 'high'
  return score >= 0.33 ? 'medium' : 'low'
}

/** Selects a model; null if no candidate is within the maximum price, or there is none at all. */
export function selectPareto(
  candidates: readonly RouterCandidate[],
  options: ParetoOptions,
): RouterSelection | null {
  return options.maxPrice === null
    ? selectByTier(candidates, options)
    : selectByFrontier(candidates, options, options.maxPrice)
}

function selectByTier(
  candidates: readonly RouterCandidate[],
  { minCodingScore, prefersSpeed }: ParetoOptions,
): RouterSelection | null {
  const scored = candidates.filter(({ codingScore }) => codingScore !== null)
  if (scored.length === 0) return selectUnscored(candidates, prefersSpeed)
  const requestedTier = resolveCodingTier(minCodingScore)
  const { tier, members } = findNearestTier(scored, requestedTier)
  const ranked = sortCandidates(members, [byStability, ...orderWithin(prefersSpeed)])
  const substitute =
    tier === requestedTier ? '' : ` The ${requestedTier} tier has no model that can serve the request.`
  const others = sortCandidates(
    scored.filter((candidate) => !members.includes(candidate)),
    [byCodingScore],
  ).map(({ id, codingScore }) => ({
    model: id,
    reason: `It is in the ${resolveCodingTier(codingScore ?? 0)} tier.`,
  }))
  const measure = prefersSpeed ? 'fastest' : 'cheapest'
  const selection = selectRanked(
    ranked,
    `It is the ${measure} model of the ${tier} tier.${substitute}`,
    others,
  )
  return { ...selection, data: { coding_tier: tier } }
}

/** Selects without tiers, because no candidate has a benchmark. */
function selectUnscored(
  candidates: readonly RouterCandidate[],
  prefersSpeed: boolean,
): RouterSelection | null {
  if (candidates.length === 0) return null
  const order = prefersSpeed ? [byThroughput, byStanding] : [byStanding]
  const ranked = sortCandidates(candidates, [byStability, ...order, byPrice])
  const measure = prefersSpeed ? 'fastest' : 'most current, capable and widely sold'
  return selectRanked(ranked, `No model has a coding score; it is the ${measure}.`)
}

function orderWithin(prefersSpeed: boolean): Comparison[] {
  return prefersSpeed ? [byThroughput, byPrice] : [byPrice, byCodingScore]
}

/** The requested tier, or the nearest one that has models, the better one first. */
function findNearestTier(
  scored: readonly RouterCandidate[],
  requestedTier: CodingTier,
): { tier: CodingTier; members: RouterCandidate[] } {
  const at = codingTiers.indexOf(requestedTier)
  const byDistance = codingTiers.toSorted(
    (a, b) =>
      Math.abs(codingTiers.indexOf(a) - at) - Math.abs(codingTiers.indexOf(b) - at) ||
      codingTiers.indexOf(b) - codingTiers.indexOf(a),
  )
  for (const tier of byDistance) {
    const members = scored.filter(({ codingScore }) => resolveCodingTier(codingScore ?? 0) === tier)
    if (members.length > 0) return { tier, members }
  }
  return { tier: requestedTier, members: [] }
}

/** The best model within the price that no cheaper model beats, then cheaper ones of that kind, then the others. */
function selectByFrontier(
  candidates: readonly RouterCandidate[],
  { priceSource }: ParetoOptions,
  maxPrice: number,
): RouterSelection | null {
  const priceOf = (candidate: RouterCandidate) =>
    (priceSource === 'weighted_avg' ? candidate.paidPromptPrice : null) ?? candidate.promptPrice
  const byPromptPrice: Comparison = (a, b) => priceOf(a) - priceOf(b)
  const affordable = candidates.filter((candidate) => priceOf(candidate) <= maxPrice)
  if (affordable.length === 0) return null
  const frontier = new Set(findFrontier(affordable, priceOf))
  const ranked = [
    ...sortCandidates([...frontier], [byStability, byCodingScore, byPromptPrice]),
    ...sortCandidates(
      affordable.filter((candidate) => !frontier.has(candidate)),
      [byStability, byCodingScore, byStanding, byPromptPrice],
    ),
  ]
  const others = candidates
    .filter((candidate) => !affordable.includes(candidate))
    .map(({ id }) => ({ model: id, reason: 'Its price is over max_price.' }))
  const reason =
    frontier.size > 0
      ? 'It has the best coding score within max_price.'
      : 'No model within max_price has a coding score; it is the most current, capable and widely sold.'
  return selectRanked(ranked, reason, others)
}

/** Models with a score that are better than every cheaper one. */
export function findFrontier(
  candidates: readonly RouterCandidate[],
  priceOf: (candidate: RouterCandidate) => number,
): RouterCandidate[] {
  const frontier: RouterCandidate[] = []
  let best = Number.NEGATIVE_INFINITY
  for (const candidate of sortCandidates(candidates, [(a, b) => priceOf(a) - priceOf(b), byCodingScore])) {
    const { codingScore } = candidate
    if (codingScore === null || codingScore <= best) continue
    best = codingScore
    frontier.push(candidate)
  }
  return frontier
}
