import type { Catalog } from '../../catalog/catalog.ts'
import type { Endpoint } from '../../catalog/model.ts'
import type { TierAccess } from './query.ts'

/** The endpoints that a name in `order`, `only` or `ignore` selects. */
interface EndpointSelector {
  tag: string
  /** A provider by slug, display name or neutral vendor name: all its endpoints in the permitted tiers. */
  provider: string | undefined
}

export type SelectorList = readonly EndpointSelector[]

export function resolveSelectors(
  names: readonly string[] | null | undefined,
  providerByName: Catalog['providerByName'],
): SelectorList | null {
  if (!names) return null
  return names.map((name) => ({
    tag: name,
    provider: (providerByName.get(name) ?? providerByName.get(name.toLowerCase()))?.slug,
  }))
}

/** The index in the list, or -1. The name of a provider includes a service tier only if the request selects that tier. */
export function findSelectorIndex(
  selectors: SelectorList,
  { tag, provider, service_tier }: Endpoint,
  tiers: TierAccess,
): number {
  const isTierAllowed = service_tier === null || tiers[service_tier] !== 'no'
  for (let index = 0; index < selectors.length; index++) {
    const selector = selectors[index]
    if (selector && (selector.tag === tag || (isTierAllowed && selector.provider === provider.slug)))
      return index
  }
  return -1
}

/** Whether an endpoint is ignored. Ignoring a provider ignores all its service tiers. */
export function isIgnored(selectors: SelectorList, { tag, provider }: Endpoint): boolean {
  return selectors.some((selector) => selector.tag === tag || selector.provider === provider.slug)
}

/** Whether one of the names is the tag of the endpoint. */
export function isSelectedByTag(selectors: SelectorList | null, { tag }: Endpoint): boolean {
  return selectors?.some((selector) => selector.tag === tag) ?? false
}
