import type { Schemas } from '../../api/client.ts'
import { toPricePerMillion, toPricePerToken } from '../../format/price.ts'

type Pricing = Schemas['DeclaredPricing']

export const priceLabels = {
  prompt: 'In',
  completion: 'Out',
  input_cache_read: 'Cache read',
  input_cache_write: 'Cache write',
} as const

export type PriceName = keyof typeof priceLabels
/** Dollars per million tokens, as typed; empty for none. */
export type PriceDraft = Record<PriceName, string>

const names = Object.keys(priceLabels) as PriceName[]

export function priceDraftOf(pricing: Pricing | undefined): PriceDraft {
  return Object.fromEntries(names.map((name) => [name, toPricePerMillion(pricing?.[name])])) as PriceDraft
}

interface Prices {
  /** Prices of the edit so far: those that the form has no field for stay. */
  edited: Pricing | undefined
  /** Prices without the edit, for fields that are empty. */
  beneath: Pricing | undefined
}

/** The whole pricing, which replaces the other one. Undefined without prices; null if one is wrong or missing. */
export function pricingOf(draft: PriceDraft, { edited, beneath }: Prices): Pricing | null | undefined {
  const entered = names.filter((name) => draft[name].trim() !== '')
  if (entered.length === 0) return undefined
  const prices = Object.fromEntries(entered.map((name) => [name, toPricePerToken(draft[name])]))
  if (Object.values(prices).includes(null)) return null
  const others = Object.entries(edited ?? {}).filter(([name]) => !names.some((known) => known === name))
  const merged: Partial<Pricing> = { ...beneath, ...Object.fromEntries(others), ...prices }
  const { prompt, completion } = merged
  return prompt === undefined || completion === undefined ? null : { ...merged, prompt, completion }
}
