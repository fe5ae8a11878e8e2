import { z } from 'zod'

const perMinute = z.int().min(1).max(1_000_000_000).optional()

/** What a provider allows in a minute, as an operator declares it. */
export const declaredRateLimits = z
  .strictObject({
    requests_per_minute: perMinute,
    tokens_per_minute: perMinute,
  })
  .refine(
    ({ requests_per_minute, tokens_per_minute }) =>
      requests_per_minute !== undefined || tokens_per_minute !== undefined,
    'must have requests_per_minute, tokens_per_minute or both',
  )
  .meta({ id: 'DeclaredRateLimits' })

export type DeclaredRateLimits = z.output<typeof declaredRateLimits>

/** A declared rate: of an endpoint, or of all endpoints of a provider together. */
export interface DeclaredRate {
  /** Identifies what is counted. */
  name: string
  measure: 'requests' | 'tokens'
  perMinute: number
}

interface RatedEndpoint {
  id: string
  rate_limits?: DeclaredRateLimits | undefined
}

interface RatedProvider {
  slug: string
  rateLimits?: DeclaredRateLimits | undefined
}

/** The rates that count the requests to an endpoint; null if none is declared. */
export function compileRates(endpoint: RatedEndpoint, provider: RatedProvider): DeclaredRate[] | null {
  const rates = [
    ...listRates(`endpoint ${endpoint.id}`, endpoint.rate_limits),
    ...listRates(`provider ${provider.slug}`, provider.rateLimits),
  ]
  return rates.length === 0 ? null : rates
}

function listRates(name: string, limits: DeclaredRateLimits | undefined): DeclaredRate[] {
  const { requests_per_minute, tokens_per_minute } = limits ?? {}
  return [
    ...(requests_per_minute === undefined
      ? []
      : [{ name, measure: 'requests' as const, perMinute: requests_per_minute }]),
    ...(tokens_per_minute === undefined
      ? []
      : [{ name, measure: 'tokens' as const, perMinute: tokens_per_minute }]),
  ]
}
