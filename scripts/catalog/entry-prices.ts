import type { Pricing, PricingOverride } from '../../src/catalog/price.ts'
import type { ServiceTier } from '../../src/formats/vocabulary.ts'
import { divide, shiftLeft } from './decimal.ts'
import { buildOffPeakOverrides, buildRangePrices } from './entry-conditions.ts'
import { type PriceEntry, readPrice } from './price-list.ts'
import { conditionalKeys } from './prices.ts'

export type PriceKey = Exclude<keyof Pricing, 'discount' | 'overrides'>
export type PromptUnit = 'token' | 'character' | 'second' | 'search'

/** The prices of one endpoint by the units of `pricing`; images and videos have rows of their own. */
export interface UnitPrices {
  pricing: Pricing
  promptUnit: PromptUnit
}

/** USD per token in the source and in the catalog. */
export const tokenPriceKeys: Record<string, PriceKey> = {
  input_cost_per_token: 'prompt',
  output_cost_per_token: 'completion',
  cache_read_input_token_cost: 'input_cache_read',
  cache_creation_input_token_cost: 'input_cache_write',
  cache_creation_input_token_cost_above_1hr: 'input_cache_write_1h',
  input_cost_per_audio_token: 'audio',
  cache_read_input_audio_token_cost: 'input_audio_cache',
  output_cost_per_audio_token: 'audio_output',
  input_cost_per_image_token: 'image_token',
  output_cost_per_image_token: 'image_output',
  output_cost_per_reasoning_token: 'internal_reasoning',
}

/** The price of one unit of input, in modes that are not billed by tokens. */
const inputUnits: Record<string, { field: string; unit: PromptUnit }> = {
  rerank: { field: 'input_cost_per_query', unit: 'search' },
  audio_speech: { field: 'input_cost_per_character', unit: 'character' },
  audio_transcription: { field: 'input_cost_per_second', unit: 'second' },
}

/** Undefined if the source has no price, which is not the same as free. */
export function convertUnitPrices(entry: PriceEntry, tier?: ServiceTier): UnitPrices | undefined {
  const tokens = convertTokenPrices(entry, tier)
  if (tokens) return { pricing: tokens, promptUnit: 'token' }
  const input = inputUnits[entry.mode]
  const price = input && !tier ? readPrice(entry, input.field) : undefined
  if (!input || price === undefined || readPrice(entry, 'output_cost_per_token') !== undefined)
    return undefined
  const prompt = (input.unit === 'second' && readTimePrice(entry)) || shiftLeft(price, 0)
  return { pricing: { prompt, completion: '0' }, promptUnit: input.unit }
}

/** The price of a second before the source rounded it. */
function readTimePrice({ fields: { metadata } }: PriceEntry): string | undefined {
  if (typeof metadata !== 'object' || metadata === null) return undefined
  const fields = { ...metadata }
  const [minute, hour] = ['original_pricing_per_minute', 'original_pricing_per_hour'].map((name) =>
    readPrice({ fields }, name),
  )
  if (minute !== undefined) return divide(minute, 60)
  return hour === undefined ? undefined : divide(hour, 3600)
}

function convertTokenPrices(entry: PriceEntry, tier?: ServiceTier): Pricing | undefined {
  const suffix = tier ? `_${tier}` : ''
  const ranges = tier ? undefined : buildRangePrices(entry)
  const base = { ...readTokenPrices(entry, suffix), ...ranges?.base }
  if (base.prompt === undefined) return undefined
  const overrides = [
    ...buildThresholdOverrides(entry, suffix),
    ...(ranges?.overrides ?? []),
    ...(tier ? [] : buildOffPeakOverrides(entry)),
  ]
  return {
    prompt: '0',
    completion: '0',
    ...base,
    ...readFees(entry),
    ...(overrides.length > 0 && { overrides }),
  }
}

function readTokenPrices(entry: PriceEntry, suffix: string): Partial<Record<PriceKey, string>> {
  const prices: Partial<Record<PriceKey, string>> = Object.fromEntries(
    Object.entries(tokenPriceKeys).flatMap(([field, key]) => {
      const price = readPrice(entry, field + suffix)
      return price === undefined ? [] : [[key, shiftLeft(price, 0)]]
    }),
  )
  for (const [key, fallback] of fallbackPrices) if (prices[key] === prices[fallback]) delete prices[key]
  return prices
}

/** Charged at the price of text, with its conditions, unless they have another price. */
const fallbackPrices: [PriceKey, PriceKey][] = [
  ['audio', 'prompt'],
  ['image_token', 'prompt'],
  ['internal_reasoning', 'completion'],
]

/** Fees besides tokens, which service tiers do not change. */
function readFees(entry: PriceEntry): Partial<Record<PriceKey, string>> {
  const request = readPrice(entry, 'input_cost_per_request')
  const search = readSearchFee(entry)
  const image = entry.mode === 'embedding' ? readPrice(entry, 'input_cost_per_image') : undefined
  return {
    ...(request !== undefined && { request: shiftLeft(request, 0) }),
    ...(search !== undefined && { web_search: shiftLeft(search, 0) }),
    ...(image !== undefined && { image: shiftLeft(image, 0) }),
  }
}

/** The fee of a web search, if it is the same for every size of the search context and none is free. */
function readSearchFee({ fields }: PriceEntry): number | undefined {
  const sizes = fields.search_context_cost_per_query
  if (typeof sizes !== 'object' || sizes === null || fields.search_free_requests) return undefined
  const fees = new Set(Object.values(sizes))
  const [fee] = fees
  return fees.size === 1 && typeof fee === 'number' && fee > 0 ? fee : undefined
}

/** `input_cost_per_token_above_200k_tokens` is the price of prompts with more than 200,000 tokens. */
function buildThresholdOverrides(entry: PriceEntry, suffix: string): PricingOverride[] {
  const bySize = new Map<number, PricingOverride>()
  const pattern = new RegExp(`^(.+)_above_(\\d+)k_tokens${suffix}$`)
  for (const field of Object.keys(entry.fields)) {
    const [, base = '', thousands] = pattern.exec(field) ?? []
    const key = tokenPriceKeys[base]
    const price = readPrice(entry, field)
    if (key === undefined || !conditionalKeys.has(key) || price === undefined) continue
    const size = Number(thousands) * 1000
    bySize.set(size, { ...bySize.get(size), [key]: shiftLeft(price, 0) })
  }
  return [...bySize]
    .sort(([a], [b]) => a - b)
    .map(([size, prices]) => ({ min_prompt_tokens: size, ...prices }))
}
