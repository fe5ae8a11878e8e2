import type { ServedTier } from '../catalog/vocabulary.ts'
import { textOf } from '../lib/loose.ts'
import type { Target } from './dialect.ts'
import type { Losses } from './fields.ts'

/** Words that ask for the usual price, or leave the choice to the vendor. */
const usual: ReadonlySet<string> = new Set([
  ...['auto', 'default', 'scale'],
  ...['standard', 'standard_only', 'on_demand'],
])

/** The word other formats understand, for one that only some vendors have. */
export function commonTier(word: string): string {
  if (word === 'fast') return 'priority'
  return word !== 'auto' && word !== 'scale' && usual.has(word) ? 'default' : word
}

/**
 * What a request says of its tier. One to a lane names that lane, whatever the client called it; one to the
 * default lane must not name another, for it would be billed at prices that nobody counted with.
 */
export function tierFor(asked: string | undefined, { tier }: Target, losses: Losses): string | undefined {
  if (tier !== null) return tier
  return asked === undefined || usual.has(asked) ? asked : losses.add('service_tier')
}

const served = new Map<string, ServedTier>([
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
export function servedTier(word: unknown): ServedTier | undefined {
  return served.get(textOf(word)?.toLowerCase() ?? '')
}

/** A vendor's word for clients of its own format: ours where we know what it stands for. */
export function shownTier(word: unknown): unknown {
  return servedTier(word) ?? word
}
