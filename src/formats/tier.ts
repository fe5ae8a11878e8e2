import { asString } from '../platform/json/json-values.ts'
import type { Losses } from './fields.ts'
import type { ServedTier } from './vocabulary.ts'
import type { Target } from './wire-format.ts'

/** Names of the standard tier, and those that leave the choice to the vendor. */
const standardTierNames: ReadonlySet<string> = new Set([
  ...['auto', 'default', 'scale'],
  ...['standard', 'standard_only', 'on_demand'],
])

/** The common name of a tier, for a name that only some vendors have. */
export function normalizeTier(name: string): string {
  if (name === 'fast') return 'priority'
  return name !== 'auto' && name !== 'scale' && standardTierNames.has(name) ? 'default' : name
}

/**
 * The tier to send upstream. A request to a tier names it, whatever name the client used; a request to the
 * default tier must not name another one, because its prices were not part of the hold.
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

/** The tier a vendor reports; undefined for a name that is not a tier, such as `auto`. */
export function decodeServedTier(name: unknown): ServedTier | undefined {
  return servedTiers.get(asString(name)?.toLowerCase() ?? '')
}

/** A vendor's tier name for clients of its own format; unknown names pass unmodified. */
export function normalizeServedTier(name: unknown): unknown {
  return decodeServedTier(name) ?? name
}
