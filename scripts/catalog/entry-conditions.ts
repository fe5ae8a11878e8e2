import type { PricingOverride } from '../../src/catalog/price.ts'
import { shiftLeft } from './decimal.ts'
import { type PriceEntry, readPrice } from './price-list.ts'

type Prices = Partial<Record<'prompt' | 'completion' | 'input_cache_read' | 'internal_reasoning', string>>

const fieldKeys = {
  input_cost_per_token: 'prompt',
  output_cost_per_token: 'completion',
  cache_read_input_token_cost: 'input_cache_read',
  output_cost_per_reasoning_token: 'internal_reasoning',
} as const

function readPrices(source: object): Prices {
  return Object.fromEntries(
    Object.entries(fieldKeys).flatMap(([field, key]) => {
      const price = readPrice({ fields: { ...source } }, field)
      return price === undefined ? [] : [[key, shiftLeft(price, 0)]]
    }),
  )
}

/** `tiered_pricing`: prices by ranges of prompt size. The first range is the base, the others are overrides. */
export function buildRangePrices({
  fields: { tiered_pricing: ranges },
}: PriceEntry): { base: Prices; overrides: PricingOverride[] } | undefined {
  if (!Array.isArray(ranges)) return undefined
  const [first, ...rest] = ranges.flatMap((range: unknown) => toRange(range))
  if (!first) return undefined
  return {
    base: first.prices,
    // A condition cannot change the price of reasoning.
    overrides: rest.map(({ start, prices: { internal_reasoning: _, ...prices } }) => ({
      min_prompt_tokens: start,
      ...prices,
    })),
  }
}

function toRange(range: unknown): { start: number; prices: Prices }[] {
  if (typeof range !== 'object' || range === null || !('range' in range)) return []
  const [start] = Array.isArray(range.range) ? range.range : []
  return typeof start === 'number' ? [{ start, prices: readPrices(range) }] : []
}

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

/** `off_peak_pricing`: lower prices in windows of hours and weekdays, which count from Monday = 1. */
export function buildOffPeakOverrides({
  fields: { off_peak_pricing: offPeak },
}: PriceEntry): PricingOverride[] {
  if (typeof offPeak !== 'object' || offPeak === null || !('windows' in offPeak)) return []
  const { internal_reasoning: _, ...prices } = readPrices(offPeak)
  const windows = Array.isArray(offPeak.windows) ? offPeak.windows : []
  return windows.flatMap((window: unknown) => toWindows(window)).map((window) => ({ ...window, ...prices }))
}

function toWindows(window: unknown): Pick<PricingOverride, 'utc_start' | 'utc_end' | 'utc_days'>[] {
  if (typeof window !== 'object' || window === null || !('hours_utc' in window)) return []
  const days = 'weekdays' in window && Array.isArray(window.weekdays) ? window.weekdays : []
  const utc_days = days.flatMap((day: unknown) => weekdays[Number(day) - 1] ?? [])
  return [window.hours_utc].flat().map((hours) => ({ ...parseHours(String(hours)), utc_days }))
}

/** `04:00-06:00`; a window that ends when it starts is the whole day. */
function parseHours(text: string): Pick<PricingOverride, 'utc_start' | 'utc_end'> {
  const match = /^(\d{2}):(\d{2})-(\d{2}):(\d{2})$/.exec(text)
  if (!match) throw new Error(`not a window of hours: ${text}`)
  const [utc_start, utc_end] = [Number(`${match[1]}${match[2]}`), Number(`${match[3]}${match[4]}`)]
  return utc_start === utc_end ? {} : { utc_start, utc_end }
}
