import type { SearchEngine, SearchMode } from '../../formats/schema/search-engine.ts'
import type { WebSettings } from './settings.ts'

/** Results that the price of a search includes. */
const includedResults = 10

/** Nano-dollars of a search with the operator's key. */
export function priceSearch(
  settings: WebSettings,
  { id, prices }: SearchEngine,
  mode: SearchMode | null,
  results: number,
): bigint {
  const overrides = settings.engines[id]?.prices
  const ofMode =
    mode && (overrides?.modes?.[mode] ?? (overrides?.search === undefined ? prices.modes[mode] : undefined))
  const base = ofMode ?? overrides?.search ?? prices.search
  const additional = overrides?.additional_result ?? prices.additionalResult
  return base + additional * BigInt(Math.max(0, results - includedResults))
}

/** Nano-dollars of reading a page with the operator's key. */
export function pricePage(settings: WebSettings, { id, pagePrice }: SearchEngine): bigint {
  return settings.engines[id]?.prices.page ?? pagePrice ?? 0n
}
