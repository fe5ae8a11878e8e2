import type { Pricing, PricingOverride } from '../catalog/price.ts'

/** Prices have at most 30 decimals: as integers of 10^-30 USD nothing is lost. */
const decimals = 30
const perNano = 10n ** BigInt(decimals - 9)

/** What is left to pay is counted in billionths: a discount with more decimals is not one anybody set. */
const shareUnit = 1_000_000_000n

/** One nano-dollar, in rates times a share. */
export const nanoUnit = perNano * shareUnit

type PriceKey = Exclude<keyof Pricing, 'discount' | 'overrides'>

/** What one of each costs. What has no price of its own costs what it is a kind of. */
const kinds = {
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

type Kind = keyof typeof kinds

/** In 10^-30 USD, before the discount. */
export type Rates = Readonly<Record<Kind, bigint>>

type Prices = { [Key in PriceKey]?: string | undefined }

/** An endpoint's prices, read once. Which of them apply depends on the moment and the length of the prompt. */
class PriceList {
  /** What the discount leaves, in billionths. */
  readonly share: bigint
  readonly #pricing: Pricing
  readonly #overrides: readonly PricingOverride[]
  readonly #known = new Map<string, Rates>()
  readonly #usual: Rates

  constructor(pricing: Pricing) {
    this.share = shareUnit - BigInt(Math.round((pricing.discount ?? 0) * Number(shareUnit)))
    this.#pricing = pricing
    this.#overrides = pricing.overrides ?? []
    this.#usual = ratesOf(pricing)
  }

  /** Those of a request made then with this many tokens. */
  rates(at: number, promptTokens: number): Rates {
    if (this.#overrides.length === 0) return this.#usual
    const chosen: number[] = []
    this.#overrides.forEach((override, index) => {
      if (isNow(override, at) && isLong(override, promptTokens)) chosen.push(index)
    })
    return this.#with(chosen)
  }

  /** All that a request made then may come to, if it has at most this many tokens. */
  possible(at: number, mostTokens: number): Rates[] {
    if (this.#overrides.length === 0) return [this.#usual]
    const lengths = new Set([0, mostTokens])
    for (const { min_prompt_tokens: least } of this.#overrides) {
      if (least !== undefined && least < mostTokens) lengths.add(least + 1)
    }
    return [...lengths].map((tokens) => this.rates(at, tokens))
  }

  /** Later overrides win, key by key. */
  #with(chosen: readonly number[]): Rates {
    if (chosen.length === 0) return this.#usual
    const name = chosen.join()
    const known = this.#known.get(name)
    if (known) return known
    const prices: Prices = { ...this.#pricing }
    for (const index of chosen) {
      for (const [key, price] of Object.entries(this.#overrides[index] ?? {})) {
        if (typeof price === 'string') prices[key as PriceKey] = price
      }
    }
    const rates = ratesOf(prices)
    this.#known.set(name, rates)
    return rates
  }
}

const lists = new WeakMap<Pricing, PriceList>()

export function priceList(pricing: Pricing): PriceList {
  const known = lists.get(pricing)
  if (known) return known
  const list = new PriceList(pricing)
  lists.set(pricing, list)
  return list
}

function ratesOf(prices: Prices): Rates {
  const rate = (keys: readonly PriceKey[]) =>
    exact(keys.map((key) => prices[key]).find((price) => price !== undefined))
  const rates = Object.entries(kinds).map(([kind, keys]) => [kind, rate(keys)])
  return Object.fromEntries(rates) as Rates
}

function exact(price: string | undefined): bigint {
  const [whole = '0', fraction = ''] = price?.split('.') ?? []
  return BigInt(whole) * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, '0'))
}

const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const
const minute = 60_000
const day = 24 * 60 * minute
/** The epoch was a Thursday. */
const firstDay = 4

function isNow({ utc_start, utc_end, utc_days }: PricingOverride, at: number): boolean {
  const today = days[(Math.floor(at / day) + firstDay) % 7]
  if (utc_days && !utc_days.some((name) => name === today)) return false
  if (utc_start === undefined || utc_end === undefined) return true
  const minutes = Math.floor((at % day) / minute)
  const now = Math.floor(minutes / 60) * 100 + (minutes % 60)
  return utc_start < utc_end ? now >= utc_start && now < utc_end : now >= utc_start || now < utc_end
}

function isLong({ min_prompt_tokens: least }: PricingOverride, promptTokens: number): boolean {
  return least === undefined || promptTokens > least
}
