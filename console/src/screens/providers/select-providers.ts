import type { ProviderHealth } from './queries.ts'

interface Filters {
  q?: string
  all?: true
}

/** Sorts providers with problems first, then those with traffic, then by name. */
export function selectProviders(
  providers: ProviderHealth[],
  keyCounts: ReadonlyMap<string, number>,
  { q = '', all }: Filters,
): ProviderHealth[] {
  const typed = q.trim().toLowerCase()
  return providers
    .filter(({ provider, state }) => all || state !== 'no_credential' || keyCounts.has(provider))
    .filter(
      ({ provider, provider_name }) =>
        provider.includes(typed) || provider_name.toLowerCase().includes(typed),
    )
    .sort((one, other) => rankOf(one) - rankOf(other) || one.provider_name.localeCompare(other.provider_name))
}

const ranks: Record<ProviderHealth['state'], number> = {
  unavailable: 0,
  degraded: 1,
  healthy: 2,
  unused: 3,
  no_credential: 4,
}

function rankOf({ state }: ProviderHealth): number {
  return ranks[state]
}
