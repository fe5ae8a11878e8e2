import type { EndpointPricing, Pricing, PricingOverride } from '../catalog/price.ts'
import type { UnitPrice } from '../catalog/unit-price.ts'

/** Prices have at most 30 decimals: integers of 10^-30 USD are exact. */
export const rateDecimals = 30
const ratePerNano = 10n ** BigInt(rateDecimals - 9)

/** The share that remains after a discount is counted in billionths: no discount has more decimals. */
export const shareScale = 1_000_000_000n

/** One nano-dollar, in rates times a share. */
export const nanoScale = ratePerNano * shareScale

type PriceKey = Exclude<keyof Pricing, 'discount' | 'overrides'>

/** The price of one of each. A kind without its own price has the price of the more general kind. */
const priceKeysByRate = {
  input: ['prompt'],
  cacheRead: ['input_cache_read', 'prompt'],
  cacheReadAudio: ['input_audio_cache', 'input_cache_read', 'audio', 'prompt'],
  cacheWrite: ['input_cache_write', 'prompt'],
  cacheWrite1h: ['input_cache_write_1h', 'input_cache_write', 'prompt'],
  inputAudio: ['audio', 'prompt'],
  inputImage: ['image_token', 'prompt'],
  output: ['completion'],
  reasoning: ['internal_reasoning', 'completion'],
  outputAudio: ['audio_output', 'completion'],
  outputImage: ['image_output', 'completion'],
  image: ['image'],
  request: ['request'],
  webSearch: ['web_search'],
} as const satisfies Record<string, readonly PriceKey[]>

type RateName = keyof typeof priceKeysByRate

/** Rates in 10^-30 USD, before the discount. */
export type Rates = Readonly<Record<RateName, bigint>>

/** The price of one unit, in 10^-30 USD before the discount. */
export type UnitRate = Omit<UnitPrice, 'cost_usd'> & { rate: bigint }

type Prices = { [Key in PriceKey]?: string | undefined }

/**
 * The prices of an endpoint, parsed once. Which of them apply depends on the time and the length of the
 * prompt.
 */
class PriceList {
  /** The share that remains after the discount, in billionths. */
  readonly share: bigint
  readonly units: readonly UnitRate[]
  readonly #pricing: Pricing
  readonly #overrides: readonly PricingOverride[]
  readonly #cache = new Map<string, Rates>()
  readonly #baseRates: Rates
  readonly #onlyBaseRates: readonly Rates[]

  constructor(pricing: EndpointPricing) {
    this.share = shareScale - BigInt(Math.round((pricing.discount ?? 0) * Number(shareScale)))
    this.units = (pricing.units ?? []).map(({ cost_usd, ...row }) => ({ ...row, rate: parsePrice(cost_usd) }))
    this.#pricing = pricing
    this.#overrides = pricing.overrides ?? []
    this.#baseRates = parseRates(pricing)
    this.#onlyBaseRates = [this.#baseRates]
  }

  /** The rates of a request made at that time with this many tokens. */
  ratesAt(at: number, promptTokens: number): Rates {
    if (this.#overrides.length === 0) return this.#baseRates
    const chosen: number[] = []
    this.#overrides.forEach((override, index) => {
      if (isActiveAt(override, at) && isLongEnough(override, promptTokens)) chosen.push(index)
    })
    return this.#withOverrides(chosen)
  }

  /** All rates that may apply to a request made at that time with at most this many tokens. */
  possibleRates(at: number, maxTokens: number): readonly Rates[] {
    if (this.#overrides.length === 0) return this.#onlyBaseRates
    const lengths = new Set([0, maxTokens])
    for (const { min_prompt_tokens: minTokens } of this.#overrides) {
      if (minTokens !== undefined && minTokens < maxTokens) lengths.add(minTokens + 1)
    }
    return [...lengths].map((tokens) => this.ratesAt(at, tokens))
  }

  /** Later overrides win, key by key. */
  #withOverrides(chosen: readonly number[]): Rates {
    if (chosen.length === 0) return this.#baseRates
    const name = chosen.join()
    const known = this.#cache.get(name)
    if (known) return known
    const prices: Prices = { ...this.#pricing }
    for (const index of chosen) {
      for (const [key, price] of Object.entries(this.#overrides[index] ?? {})) {
        if (typeof price === 'string') prices[key as PriceKey] = price
      }
    }
    const rates = parseRates(prices)
    this.#cache.set(name, rates)
    return rates
  }
}

const priceLists = new WeakMap<EndpointPricing, PriceList>()

export function priceListOf(pricing: EndpointPricing): PriceList {
  const known = priceLists.get(pricing)
  if (known) return known
  const list = new PriceList(pricing)
  priceLists.set(pricing, list)
  return list
}

function parseRates(prices: Prices): Rates {
  const parseRate = (keys: readonly PriceKey[]) =>
    parsePrice(keys.map((key) => prices[key]).find((price) => price !== undefined))
  const rates = Object.entries(priceKeysByRate).map(([kind, keys]) => [kind, parseRate(keys)])
  return Object.fromEntries(rates) as Rates
}

function parsePrice(price: string | undefined): bigint {
  const [whole = '0', fraction = ''] = price?.split('.') ?? []
  return BigInt(whole) * 10n ** BigInt(rateDecimals) + BigInt(fraction.padEnd(rateDecimals, '0'))
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** The epoch was a Thursday. */
const epochWeekday = 4

function isActiveAt({ utc_start, utc_end, utc_days }: PricingOverride, at: number): boolean {
  const today = weekdays[(Math.floor(at / dayMs) + epochWeekday) % 7]
  if (utc_days && !utc_days.some((name) => name === today)) return false
  if (utc_start === undefined || utc_end === undefined) return true
  const minutes = Math.floor((at % dayMs) / minuteMs)
  const now = Math.floor(minutes / 60) * 100 + (minutes % 60)
  return utc_start < utc_end ? now >= utc_start && now < utc_end : now >= utc_start || now < utc_end
}

function isLongEnough({ min_prompt_tokens: minTokens }: PricingOverride, promptTokens: number): boolean {
  return minTokens === undefined || promptTokens > minTokens
}
