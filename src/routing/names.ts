import type { Catalog } from '../catalog/catalog.ts'
import type { Endpoint } from '../catalog/model.ts'
import type { Lanes } from './wanted.ts'

/** What a name in `order`, `only` or `ignore` stands for. */
interface Named {
  tag: string
  /** A provider by slug, display name or neutral vendor name: all its endpoints in the lanes that are open. */
  provider: string | undefined
}

export type Names = readonly Named[]

export function namesOf(
  listed: readonly string[] | null | undefined,
  byName: Catalog['providerByName'],
): Names | null {
  if (!listed) return null
  return listed.map((name) => ({
    tag: name,
    provider: (byName.get(name) ?? byName.get(name.toLowerCase()))?.slug,
  }))
}

/** Its place in the list, or -1. A provider's name stands for a lane of its own only where the request asks for that lane. */
export function placeIn(names: Names, { tag, provider, service_tier }: Endpoint, lanes: Lanes): number {
  const isOpen = service_tier === null || lanes[service_tier] !== 'no'
  for (let place = 0; place < names.length; place++) {
    const name = names[place]
    if (name && (name.tag === tag || (isOpen && name.provider === provider.slug))) return place
  }
  return -1
}

/** Whoever wants nothing sent to a provider wants it in none of its lanes. */
export function isIgnored(names: Names, { tag, provider }: Endpoint): boolean {
  return names.some((name) => name.tag === tag || name.provider === provider.slug)
}

/** Whether one of the names is the tag itself. */
export function isTagged(names: Names | null, { tag }: Endpoint): boolean {
  return names?.some((name) => name.tag === tag) ?? false
}
