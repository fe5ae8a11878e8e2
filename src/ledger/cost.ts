import { promptTokens, type Usage } from '../call/usage.ts'
import type { Pricing, PricingOverride } from '../catalog/price.ts'

/** What a reply costs at an endpoint's prices, in nano-dollars, rounded once. */
export interface Cost {
  total: bigint
  prompt: bigint
  completion: bigint
}

export const noCost: Cost = { total: 0n, prompt: 0n, completion: 0n }

/** Prices have at most 30 decimals: as integers of 10^-30 USD nothing is lost. */
const decimals = 30
const perNano = 10n ** BigInt(decimals - 9)

type PriceKey = Exclude<keyof Pricing, 'discount' | 'overrides'>

/** `at` decides which conditional prices apply: the moment the request was made. */
export function costOf(usage: Usage, pricing: Pricing | null, at: number): Cost {
  if (!pricing) return noCost
  const prices = pricesFor(pricing, usage, at)
  const price = (...keys: PriceKey[]) =>
    exact(keys.map((key) => prices[key]).find((text) => text !== undefined))
  const count = (tokens: number, ...keys: PriceKey[]) => (tokens === 0 ? 0n : BigInt(tokens) * price(...keys))
  const prompt =
    count(usage.input, 'prompt') +
    count(usage.cacheRead, 'input_cache_read', 'prompt') +
    count(usage.cacheWrite, 'input_cache_write', 'prompt') +
    count(usage.cacheWrite1h, 'input_cache_write_1h', 'input_cache_write', 'prompt') +
    count(usage.inputAudio, 'audio', 'prompt') +
    count(usage.inputImage, 'image_token', 'prompt') +
    count(usage.inputVideo, 'prompt')
  const completion =
    count(usage.output, 'completion') +
    count(usage.reasoning, 'internal_reasoning', 'completion') +
    count(usage.outputAudio, 'audio_output', 'completion') +
    count(usage.outputImage, 'image_output', 'completion')
  const extra = price('request') + count(usage.webSearches, 'web_search')
  const share = discountShare(pricing.discount)
  return {
    total: nanos((prompt + completion + extra) * share),
    prompt: nanos(prompt * share),
    completion: nanos(completion * share),
  }
}

/** Half a nano-dollar rounds up. */
function nanos(scaled: bigint): bigint {
  const unit = perNano * shareUnit
  return (scaled + unit / 2n) / unit
}

/** What is left to pay is counted in billionths: a discount with more decimals is not one anybody set. */
const shareUnit = 1_000_000_000n

function discountShare(discount = 0): bigint {
  return shareUnit - BigInt(Math.round(discount * Number(shareUnit)))
}

const parsed = new Map<string, bigint>()

function exact(price: string | undefined): bigint {
  if (price === undefined) return 0n
  const known = parsed.get(price)
  if (known !== undefined) return known
  const [whole = '0', fraction = ''] = price.split('.')
  const value = BigInt(whole) * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, '0'))
  parsed.set(price, value)
  return value
}

/** The prices under the conditions of this request: later overrides win, key by key. */
function pricesFor(pricing: Pricing, usage: Usage, at: number): Pick<Pricing, PriceKey> {
  if (!pricing.overrides || pricing.overrides.length === 0) return pricing
  const applicable = pricing.overrides.filter((override) => applies(override, usage, at))
  return Object.assign({}, pricing, ...applicable)
}

const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

function applies(override: PricingOverride, usage: Usage, at: number): boolean {
  const { min_prompt_tokens, utc_start, utc_end, utc_days } = override
  if (min_prompt_tokens !== undefined && promptTokens(usage) <= min_prompt_tokens) return false
  const date = new Date(at)
  const today = days[date.getUTCDay()]
  if (utc_days && !utc_days.some((day) => day === today)) return false
  if (utc_start === undefined || utc_end === undefined) return true
  const now = date.getUTCHours() * 100 + date.getUTCMinutes()
  return utc_start <= utc_end ? now >= utc_start && now < utc_end : now >= utc_start || now < utc_end
}
