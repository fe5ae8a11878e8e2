import type { ConditionalPrice, ModelInfo, ModelPrice } from '@pydantic/genai-prices'
import type { Pricing, PricingOverride } from '../../src/catalog/price.ts'
import { divide, shiftLeft } from './decimal.ts'

type Price = ModelPrice[string]
type PriceKey = Exclude<keyof Pricing, 'discount' | 'overrides'>
type ConditionalKey = Exclude<
  keyof PricingOverride,
  'min_prompt_tokens' | 'utc_start' | 'utc_end' | 'utc_days'
>

/** Prices per million tokens in the source, per token in the catalog. */
const tokenKeys: Record<string, PriceKey> = {
  input_mtok: 'prompt',
  output_mtok: 'completion',
  cache_read_mtok: 'input_cache_read',
  cache_write_mtok: 'input_cache_write',
  cache_write_1h_mtok: 'input_cache_write_1h',
  input_audio_mtok: 'audio',
  cache_audio_read_mtok: 'input_audio_cache',
  output_audio_mtok: 'audio_output',
  input_image_mtok: 'image_token',
  output_image_mtok: 'image_output',
  output_reasoning_mtok: 'internal_reasoning',
}

/** Prices per thousand in the source, per unit in the catalog. */
const countKeys: Record<string, PriceKey> = { requests_kcount: 'request', web_searches_kcount: 'web_search' }

/**
 * Units without a price key that can be ignored: file search is not offered, cached image tokens are charged as
 * image tokens, and `audio_hours` repeats `input_audio_hours`.
 */
const ignoredUnits = new Set(['storage_searches_kcount', 'cache_image_read_mtok', 'audio_hours'])

export interface ConvertedPrices {
  pricing: Pricing
  promptUnit: 'token' | 'second'
  /** Units without a price key: they cannot be charged. */
  unpriced: string[]
}

/** The prices in effect on a day; undefined if the source has none and does not say that the model is free. */
export function convertPrices(info: ModelInfo, day: string): ConvertedPrices | undefined {
  const { base, windows } = selectPrices(info.prices, day)
  if (Object.keys(base).length === 0) return isFree(info) ? freePrices : undefined
  const units = Object.entries(base).filter(([unit]) => !ignoredUnits.has(unit))
  const overrides = [
    ...buildTierOverrides(base, {}),
    ...windows.flatMap(({ hours, prices }) => [
      { ...hours, ...buildFlatOverride(prices) },
      ...buildTierOverrides(prices, hours),
    ]),
  ]
  return {
    pricing: {
      prompt: '0',
      completion: '0',
      ...Object.fromEntries(units.flatMap(([unit, price]) => convertUnit(unit, basePriceOf(price)))),
      ...(overrides.length > 0 && { overrides }),
    },
    promptUnit: base.input_audio_hours === undefined ? 'token' : 'second',
    unpriced: units.map(([unit]) => unit).filter((unit) => convertUnit(unit, 0).length === 0),
  }
}

const freePrices: ConvertedPrices = {
  pricing: { prompt: '0', completion: '0' },
  promptUnit: 'token',
  unpriced: [],
}

function isFree(info: ModelInfo): boolean {
  return info.id.endsWith(':free') || /free of charge/i.test(info.price_comments ?? '')
}

function convertUnit(unit: string, price: number): [PriceKey, string][] {
  const tokenKey = tokenKeys[unit]
  if (tokenKey) return [[tokenKey, shiftLeft(price, 6)]]
  const countKey = countKeys[unit]
  if (countKey) return [[countKey, shiftLeft(price, 3)]]
  return unit === 'input_audio_hours' ? [['prompt', divide(price, 3600)]] : []
}

interface PriceWindow {
  hours: { utc_start: number; utc_end: number }
  prices: ModelPrice
}

/** Selects prices. The last matching entry of the source wins: only windows after the entry for the day can apply. */
function selectPrices(
  prices: ModelInfo['prices'],
  day: string,
): { base: ModelPrice; windows: PriceWindow[] } {
  if (!Array.isArray(prices)) return { base: prices, windows: [] }
  const startIndex = prices.findLastIndex(
    ({ constraint }) => !constraint || (constraint.type === 'start_date' && constraint.start_date <= day),
  )
  return {
    base: prices[Math.max(startIndex, 0)]?.prices ?? {},
    windows: prices.slice(startIndex + 1).flatMap(toWindow),
  }
}

function toWindow({ constraint, prices }: ConditionalPrice): PriceWindow[] {
  if (constraint?.type !== 'time_of_date') return []
  const hours = { utc_start: parseTime(constraint.start_time), utc_end: parseTime(constraint.end_time) }
  return [{ hours, prices }]
}

function parseTime(time: string): number {
  const match = /^(\d{2}):(\d{2}):00Z$/.exec(time)
  if (!match) throw new Error(`not a time in whole minutes UTC: ${time}`)
  return Number(`${match[1]}${match[2]}`)
}

export const conditionalKeys: ReadonlySet<string> = new Set<ConditionalKey>([
  'prompt',
  'completion',
  'audio',
  'input_audio_cache',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
])

function buildFlatOverride(prices: ModelPrice): PricingOverride {
  const entries = Object.entries(prices).flatMap(([unit, price]) => convertUnit(unit, basePriceOf(price)))
  return Object.fromEntries(entries.filter(([key]) => conditionalKeys.has(key)))
}

/** One override for each size at which a price changes; source and catalog both mean "more tokens than this". */
function buildTierOverrides(prices: ModelPrice, hours: Partial<PriceWindow['hours']>): PricingOverride[] {
  const steps = Object.values(prices).flatMap((price) => (isTiered(price) ? price.tiers : []))
  const starts = [...new Set(steps.map((step) => step.start))].sort((a, b) => a - b)
  return starts.map((start) => {
    const entries = Object.entries(prices).flatMap(([unit, price]) => {
      const step = isTiered(price) ? price.tiers.find((tier) => tier.start === start) : undefined
      return step ? convertUnit(unit, step.price) : []
    })
    return { min_prompt_tokens: start, ...hours, ...Object.fromEntries(entries) }
  })
}

function basePriceOf(price: Price): number {
  return isTiered(price) ? price.base : (price ?? 0)
}

function isTiered(price: Price): price is Exclude<Price, number | undefined> {
  return typeof price === 'object'
}
