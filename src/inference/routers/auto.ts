import {
  byLatency,
  byPrice,
  byScore,
  bySpendShare,
  byStability,
  byStanding,
  byTaskShare,
  type Comparison,
  type RouterCandidate,
  type RouterSelection,
  type RunnerUp,
  selectRanked,
  sortCandidates,
} from './candidate.ts'
import { type CostBand, computePercentiles, pickBand } from './cost-bands.ts'
import type { ModelMatcher } from './model-patterns.ts'

export interface AutoOptions {
  /** Matches the allowed models; null: every model. */
  isAllowed: ModelMatcher | null
  isExcluded: ModelMatcher | null
  band: CostBand
  /** The model of the last reply, if the request pins it. */
  pinned: string | null
  /** The model that served the last turn of the session. */
  remembered: string | null
}

/** Criteria that rank models, each with the reason given when it decides. */
const criteria: readonly { compare: Comparison; reason: string }[] = [
  { compare: byStability, reason: 'The other models of its price failed recently.' },
  { compare: byTaskShare, reason: 'This account spent most on it for this kind of task in the last 7 days.' },
  { compare: bySpendShare, reason: 'This account spent most on it in the last 7 days.' },
  { compare: byScore, reason: 'It has the best benchmark score.' },
  {
    compare: byStanding,
    reason: 'No benchmark compares the models of its price; it is the most current, capable and widely sold.',
  },
  { compare: byPrice, reason: 'It has the lowest price.' },
  { compare: byLatency, reason: 'It is the fastest.' },
]

const rankingOrder = criteria.map(({ compare }) => compare)

/** Selects a model; null if no candidate may be used. */
export function selectAuto(
  candidates: readonly RouterCandidate[],
  options: AutoOptions,
): RouterSelection | null {
  const { isAllowed, isExcluded, band, pinned, remembered } = options
  const allowed = candidates.filter(({ id }) => (isAllowed?.(id) ?? true) && !isExcluded?.(id))
  const inBand = pickBand(allowed, computePercentiles(candidates), band)
  const ranked = sortCandidates(inBand, rankingOrder)
  const outside = listOutside(allowed, inBand)
  for (const [id, reason] of [
    [pinned, 'It wrote the last reply, and pin_model keeps it.'],
    [remembered, 'It served the last turn of this session.'],
  ] as const) {
    const previous = allowed.find((candidate) => candidate.id === id)
    if (previous)
      return selectRanked([previous, ...ranked.filter(({ id }) => id !== previous.id)], reason, outside)
  }
  return ranked.length === 0 ? null : selectRanked(ranked, explainFirst(ranked), outside)
}

/** The first criterion that tells the first candidate from the second. */
function explainFirst([first, second]: readonly RouterCandidate[]): string {
  if (!first || !second) return 'It is the only model of its price that can serve the request.'
  return (
    criteria.find(({ compare }) => compare(first, second) < 0)?.reason ?? 'It is as good as the next model.'
  )
}

function listOutside(allowed: readonly RouterCandidate[], inBand: readonly RouterCandidate[]): RunnerUp[] {
  const chosen = new Set(inBand)
  const others = allowed.filter((candidate) => !chosen.has(candidate))
  return sortCandidates(others, rankingOrder).map(({ id }) => ({
    model: id,
    reason: 'Its price is outside the cost tier.',
  }))
}
