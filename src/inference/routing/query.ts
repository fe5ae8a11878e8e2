import type { ByokKey } from '../../catalog/byok-keys.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { ResolvedModel } from '../../catalog/lookup.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { PlainPrompt } from '../../formats/call/plain-prompt.ts'
import type { ProviderPreferences } from '../../formats/schema/preferences.ts'
import type { DataRegion, TaskName } from '../../formats/vocabulary.ts'
import type { EffectivePolicy } from '../../governance/policy/effective.ts'

/** The properties of a prompt that routing reads. */
export interface RoutedPrompt {
  /** Set for a conversation of texts, whose call need not be read; null otherwise. */
  readonly plain: PlainPrompt | null
  readonly call: ModelCall
  /** An estimated number of tokens. */
  readonly promptTokens: number
}

/** Everything a routing decision depends on, besides the `RoutingState`. */
export interface RoutingQuery {
  /** Models in the order they are tried. */
  models: readonly ResolvedModel[]
  /** Whether the first model was chosen among the targets of an alias, so that no sorting puts another before it. */
  isSplit?: boolean
  preferences: ProviderPreferences
  /** The workspace's order, for requests that neither sort nor order endpoints. */
  defaultSort: Sort | null
  task: TaskName
  prompt: RoutedPrompt
  region: DataRegion
  policy: EffectivePolicy
  byokKeys: readonly ByokKey[]
  providerByName: Catalog['providerByName']
  /** Identifies the conversation for sticky routing; null when it makes no difference. */
  stickyKeyFor: (modelId: string) => string | null
}

export const sorts = ['price', 'throughput', 'latency', 'exacto'] as const
export type Sort = (typeof sorts)[number]

/** Service tiers that may be used, and in what order, for one model of a request. */
export interface TierAccess {
  priority: 'no' | 'yes' | 'first'
  flex: 'no' | 'yes' | 'only'
}

const defaultTiers: TierAccess = { priority: 'no', flex: 'no' }

export function resolveSort(
  { preferences, defaultSort }: RoutingQuery,
  { variants }: ResolvedModel,
): Sort | null {
  const { sort } = preferences
  const requested = typeof sort === 'string' ? sort : sort?.by
  return requested ?? variantSorts.find(([variant]) => variants.includes(variant))?.[1] ?? defaultSort
}

const variantSorts: [variant: string, sort: Sort][] = [
  ['nitro', 'throughput'],
  ['floor', 'price'],
  ['exacto', 'exacto'],
]

/** Whether endpoints of all models are ranked together. */
export function isUnpartitioned({ preferences: { sort }, isSplit }: RoutingQuery): boolean {
  return !isSplit && typeof sort === 'object' && sort?.partition === 'none'
}

export function resolveTiers({ prompt, preferences }: RoutingQuery, { variants }: ResolvedModel): TierAccess {
  if (prompt.plain && variants.length === 0) return defaultTiers
  const tier = prompt.plain ? undefined : prompt.call.serviceTier
  if (tier === 'priority' || tier === 'fast') return { priority: 'first', flex: 'no' }
  if (tier === 'flex') return { priority: 'no', flex: 'only' }
  const allowsVariants = tier !== 'default' && !preferences.order?.length
  return {
    priority: allowsVariants && variants.includes('nitro') ? 'yes' : 'no',
    flex: allowsVariants && variants.includes('floor') ? 'yes' : 'no',
  }
}
