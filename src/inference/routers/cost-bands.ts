import type { RouterCandidate } from './candidate.ts'

export const costTiers = ['low', 'medium', 'high', 'xhigh', 'max'] as const
export type CostTier = (typeof costTiers)[number]

/** A range of percentiles of price. `isClosed`: it includes its end. */
export interface CostBand {
  from: number
  to: number
  isClosed: boolean
}

const bandWidth = 100 / costTiers.length

export function bandOfTier(tier: CostTier): CostBand {
  const from = costTiers.indexOf(tier) * bandWidth
  return { from, to: from + bandWidth, isClosed: tier === 'max' }
}

/** Converts a tradeoff from 0, anything up to the 90th percentile, to 10, only the cheapest tenth. */
export function bandOfTradeoff(tradeoff: number): CostBand {
  return { from: 0, to: 10 + (10 - tradeoff) * 8, isClosed: true }
}

/** The percentile of each price among those of all candidates, by id: 0 for the lowest, 100 for the highest. */
export function computePercentiles(candidates: readonly RouterCandidate[]): Map<string, number> {
  const sorted = candidates.toSorted((a, b) => a.price - b.price || 0)
  const last = Math.max(1, sorted.length - 1)
  let rank = 0
  return new Map(
    sorted.map(({ id, price }, index) => {
      // Equal prices have the same percentile.
      if (price !== sorted[index - 1]?.price) rank = index
      return [id, (rank / last) * 100]
    }),
  )
}

export function isInBand(percentile: number, { from, to, isClosed }: CostBand): boolean {
  return percentile >= from && (isClosed ? percentile <= to : percentile < to)
}

/** Picks the candidates within the band; if there are none, those closest to it. */
export function pickBand(
  candidates: readonly RouterCandidate[],
  percentiles: ReadonlyMap<string, number>,
  band: CostBand,
): RouterCandidate[] {
  const distanceOf = ({ id }: RouterCandidate) => {
    const percentile = percentiles.get(id) ?? 100
    if (isInBand(percentile, band)) return 0
    // The smallest distance outside an open end is not 0.
    return Math.max(Number.MIN_VALUE, band.from - percentile, percentile - band.to)
  }
  const nearest = Math.min(...candidates.map(distanceOf))
  return candidates.filter((candidate) => distanceOf(candidate) === nearest)
}
