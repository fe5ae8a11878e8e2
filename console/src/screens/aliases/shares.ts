import type { Schemas } from '../../api/client.ts'
import { formatShare } from '../../format/number.ts'

export type Alias = Schemas['ModelAlias']

/** The shares of weights. */
export function describeShares(weights: readonly number[]): string[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => formatShare(total === 0 ? 0 : weight / total))
}

const units = { session: 'session', user: 'end user', request: 'request' } as const

export function describeSplit({ split_by, fallback }: Pick<Alias, 'split_by' | 'fallback'>): string {
  const unit = `By ${units[split_by ?? 'session']}`
  return fallback === false ? `${unit}, without fallbacks` : unit
}
