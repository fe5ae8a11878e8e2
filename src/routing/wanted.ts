import type { OwnKey } from '../account/own-keys.ts'
import type { Call } from '../call/call.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Found } from '../catalog/lookup.ts'
import type { DataRegion } from '../catalog/vocabulary.ts'
import type { Preferences } from '../dialects/schema/preferences.ts'
import type { EffectivePolicy } from '../policy/effective.ts'

/** All that a decision depends on, beside the state of the world. */
export interface Wanted {
  /** In the order they are to be tried. */
  models: readonly Found[]
  preferences: Preferences
  call: Call
  region: DataRegion
  policy: EffectivePolicy
  ownKeys: readonly OwnKey[]
  providerByName: Catalog['providerByName']
  /** Where the turns of one conversation should meet; null when it cannot matter. */
  conversation: (modelId: string) => string | null
}

export type Sort = 'price' | 'throughput' | 'latency' | 'exacto'

/** Which lanes of a provider may be used, and in what order, for one model of a request. */
export interface Lanes {
  priority: 'no' | 'yes' | 'first'
  flex: 'no' | 'yes' | 'only'
}

export function sortOf({ preferences }: Wanted, { variants }: Found): Sort | null {
  const { sort } = preferences
  const said = typeof sort === 'string' ? sort : sort?.by
  return said ?? variantSorts.find(([variant]) => variants.includes(variant))?.[1] ?? null
}

const variantSorts: [variant: string, sort: Sort][] = [
  ['nitro', 'throughput'],
  ['floor', 'price'],
  ['exacto', 'exacto'],
]

/** Endpoints of all models are ranked together. */
export function isMixed({ preferences: { sort } }: Wanted): boolean {
  return typeof sort === 'object' && sort?.partition === 'none'
}

export function lanesOf({ call, preferences }: Wanted, { variants }: Found): Lanes {
  const tier = call.serviceTier
  if (tier === 'priority' || tier === 'fast') return { priority: 'first', flex: 'no' }
  if (tier === 'flex') return { priority: 'no', flex: 'only' }
  const isOpen = tier !== 'default' && !preferences.order?.length
  return {
    priority: isOpen && variants.includes('nitro') ? 'yes' : 'no',
    flex: isOpen && variants.includes('floor') ? 'yes' : 'no',
  }
}
