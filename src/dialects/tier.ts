import type { ServedTier } from '../catalogue/vocabulary.ts'
import { asString } from '../lib/json-values.ts'
import type { Target } from './dialect.ts'
import type { Losses } from './fields.ts'

/** Words that ask for the usual price, or leave the choice to the vendor. */
const standardTierNames: ReadonlySet<string> = new Set([
  ...['auto', 'default', 'scale'],
  ...['standard', 'standard_only', 'on_demand'],
])

/** The word other formats understand, for one that only some vendors have. */
export function normalizeTier(name: string): string {
  if (name === 'fast') return 'priority'
  return name !== 'auto' && name !== 'scale' && standardTierNames.has(name) ? 'default' : name
}

/**
 * What a request says of its tier. One to a lane names that lane, whatever the client called it; one to the
 * default lane must not name another, for it would be billed at prices that nobody counted with.
 */
export function resolveTier(
  requested: string | undefined,
  { tier }: Target,
  losses: Losses,
): string | undefined {
  if (tier !== null) return tier
  return requested === undefined || standardTierNames.has(requested) ? requested : losses.add('service_tier')
}

const servedTiers = new Map<string, ServedTier>([
  ['default', 'default'],
  ['standard', 'default'],
  ['on_demand', 'default'],
  ['priority', 'priority'],
  ['fast', 'priority'],
  ['on_demand_priority', 'priority'],
  ['flex', 'flex'],
  ['on_demand_flex', 'flex'],
])

/** The tier a vendor says it served with; undefined for a word that names none, such as `auto`. */
export function decodeServedTier(name: unknown): ServedTier | undefined {
  return servedTiers.get(asString(name)?.toLowerCase() ?? '')
}

/** A vendor's word for clients of its own format: ours where we know what it stands for. */
export function normalizeServedTier(name: unknown): unknown {
  return decodeServedTier(name) ?? name
}
