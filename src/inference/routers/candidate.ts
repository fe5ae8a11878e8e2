/** A model that a router may choose for a request, and what is known of it. */
export interface RouterCandidate {
  /** The model's id. */
  id: string
  /** USD for a million prompt and a million completion tokens at the cheapest endpoint; infinite if unknown. */
  price: number
  /** USD per million prompt tokens there. */
  promptPrice: number
  /** The same as this account's traffic of the last days paid it; null without traffic. */
  paidPromptPrice: number | null
  /** Whether some endpoint has no recent failures. */
  isStable: boolean
  /** The best medians of its endpoints: milliseconds to the first token, tokens per second. */
  latency: number | null
  throughput: number | null
  /** Benchmarks, from 0 to 1, where 1 is best; null: not measured. */
  score: number | null
  codingScore: number | null
  /** The estimate of `estimateStanding`, from 0 to 1: ranks models without benchmarks. */
  standing: number
  /** Shares of this account's spending in the last days, from 0 to 1: on the kind of task, and on any. */
  taskShare: number
  spendShare: number
}

/** The decision of a router. */
export interface RouterSelection {
  /** Names of models: the chosen one, then those to fall back to. Never empty. */
  models: string[]
  /** The reason for choosing the first. */
  reason: string
  /** The next best models that are not among `models`, and why they are not. */
  runnersUp: RunnerUp[]
  /** Further facts for `service_metadata`. */
  data?: { [name: string]: string | number | boolean | null }
}

export interface RunnerUp {
  model: string
  reason: string
}

/** Models besides the chosen one. */
export const maxFallbacks = 2
const maxRunnersUp = 5

/** The first of the ranked candidates and its fallbacks; the others with the reason they were not chosen. */
export function selectRanked(
  ranked: readonly RouterCandidate[],
  reason: string,
  others: readonly RunnerUp[] = [],
): RouterSelection {
  const chosen = ranked.slice(0, maxFallbacks + 1).map(({ id }) => id)
  const rest = ranked.slice(chosen.length).map(({ id }) => ({ model: id, reason: 'Ranked lower.' }))
  return { models: chosen, reason, runnersUp: [...rest, ...others].slice(0, maxRunnersUp) }
}

export type Comparison = (a: RouterCandidate, b: RouterCandidate) => number

/** Sorted by the first comparison that tells two candidates apart; then by id, so that the order is always the same. */
export function sortCandidates(
  candidates: readonly RouterCandidate[],
  comparisons: readonly Comparison[],
): RouterCandidate[] {
  return candidates.toSorted((a, b) => {
    for (const compare of comparisons) {
      const order = compare(a, b)
      if (order !== 0 && !Number.isNaN(order)) return order
    }
    return a.id < b.id ? -1 : 1
  })
}

export const byStability: Comparison = (a, b) => Number(b.isStable) - Number(a.isStable)
/** The difference of two unknown prices is NaN: they count as equal. */
export const byPrice: Comparison = (a, b) => a.price - b.price
export const byTaskShare: Comparison = (a, b) => b.taskShare - a.taskShare
export const bySpendShare: Comparison = (a, b) => b.spendShare - a.spendShare
export const byScore: Comparison = (a, b) => (b.score ?? -1) - (a.score ?? -1)
export const byCodingScore: Comparison = (a, b) => (b.codingScore ?? -1) - (a.codingScore ?? -1)
export const byStanding: Comparison = (a, b) => b.standing - a.standing
/** Compares latencies; a candidate without measurements comes last. */
export const byLatency: Comparison = (a, b) =>
  (a.latency ?? Number.POSITIVE_INFINITY) - (b.latency ?? Number.POSITIVE_INFINITY)
export const byThroughput: Comparison = (a, b) => (b.throughput ?? -1) - (a.throughput ?? -1)
