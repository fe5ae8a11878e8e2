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

/** Undefined without prices; null if one is not an amount, or one of the first two is missing. Other prices stay. */
export function pricingOf(draft: PriceDraft, before: Pricing | undefined): Pricing | null | undefined {
  const entered = names.filter((name) => draft[name].trim() !== '')
  if (entered.length === 0) return undefined
  const prices = Object.fromEntries(entered.map((name) => [name, toPricePerToken(draft[name])]))
  const { prompt, completion } = prices
  if (Object.values(prices).includes(null) || !prompt || !completion) return null
  const others = Object.entries(before ?? {}).filter(([name]) => !names.some((known) => known === name))
  return { ...Object.fromEntries(others), ...prices, prompt, completion }
}
