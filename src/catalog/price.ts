import { z } from 'zod'
import type { UnitPrice } from './unit-price.ts'

/** A non-negative decimal string, because charges are computed exactly. */
const decimalPattern = /^\d{1,9}(\.\d{1,30})?$/

export const decimalPrice = z
  .string({
    error: ({ input }) =>
      typeof input === 'number'
        ? 'put the price in quotes, as a decimal string such as "0.000001"'
        : 'must be a decimal string in USD such as "0.000001"',
  })
  .regex(decimalPattern, 'must be a decimal string in USD such as "0.000001"')

/** Prices a condition may change. */
const conditionalPrices = {
  prompt: decimalPrice.optional(),
  completion: decimalPrice.optional(),
  audio: decimalPrice.optional(),
  input_audio_cache: decimalPrice.optional(),
  input_cache_read: decimalPrice.optional(),
  input_cache_write: decimalPrice.optional(),
  input_cache_write_1h: decimalPrice.optional(),
}

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

const timeOfDay = z
  .int()
  .min(0)
  .max(2359)
  .refine((hhmm) => hhmm % 100 < 60, 'must be a time as HHMM, such as 1630')

const pricingOverride = z
  .strictObject({
    min_prompt_tokens: z.int().min(0).optional().describe('Applies to prompts with more tokens than this'),
    utc_start: timeOfDay.optional().describe('HHMM; the window may cross midnight'),
    utc_end: timeOfDay.optional().describe('HHMM, exclusive'),
    utc_days: z.array(z.enum(weekdays)).optional(),
    ...conditionalPrices,
  })
  .refine(
    ({ utc_start, utc_end }) => (utc_start === undefined) === (utc_end === undefined),
    'utc_start and utc_end must be set together',
  )
  .meta({ override: { dependentRequired: { utc_start: ['utc_end'], utc_end: ['utc_start'] } } })

/** USD per unit, in the keys the API shows. */
export const pricing = z.strictObject({
  ...conditionalPrices,
  prompt: decimalPrice,
  completion: decimalPrice,
  audio_output: decimalPrice.optional(),
  image: decimalPrice.optional(),
  image_output: decimalPrice.optional(),
  image_token: decimalPrice.optional(),
  internal_reasoning: decimalPrice.optional(),
  request: decimalPrice.optional(),
  web_search: decimalPrice.optional(),
  discount: z.number().min(0).max(1).optional(),
  overrides: z.array(pricingOverride).optional(),
})

export type Pricing = z.output<typeof pricing>
/** The prices of an endpoint: of tokens, and of what is billed by another unit. */
export type EndpointPricing = Pricing & { units?: readonly UnitPrice[] }
export type PricingOverride = z.output<typeof pricingOverride>

/**
 * `free`: nothing is charged. `unknown`: there is no price, and a key with a spending limit must not use the
 * endpoint.
 */
export type PriceState = 'priced' | 'free' | 'unknown'

/** Derived from every price of an endpoint; without any price it is unknown. */
export function resolvePriceState(prices: readonly string[]): PriceState {
  if (prices.length === 0) return 'unknown'
  return prices.every(isZero) ? 'free' : 'priced'
}

/** Every price in a pricing object, including its overrides. */
export function listPrices(source: EndpointPricing): string[] {
  const { overrides = [], units = [], discount: _, ...base } = source
  const ofTokens = [base, ...overrides].flatMap((prices) => Object.values(prices).filter(isPrice))
  return [...ofTokens, ...units.map(({ cost_usd }) => cost_usd)]
}

function isPrice(value: unknown): value is string {
  return typeof value === 'string'
}

function isZero(price: string): boolean {
  return /^[0.]+$/.test(price)
}

/** Estimates for sorting and filtering only, never for charges. */
export function estimatePerMillion(price: string, discount = 0): number {
  return Number(price) * 1e6 * (1 - discount)
}
