import type { Billable, BillingUnit } from '../formats/call/units.ts'
import { type DeclaredEndpoint, videoSkuPattern } from './declared-model.ts'
import type { ImageCapabilities, VideoCapabilities } from './model.ts'
import type { EndpointPricing, Pricing } from './price.ts'
import type { UnitPrice } from './unit-price.ts'

/** Billables of the units of `pricing.prompt` other than the token. */
const promptBillables: Readonly<Record<'character' | 'second' | 'search', Billable>> = {
  character: 'input_text',
  second: 'input_audio',
  search: 'search',
}

/** Every price of an endpoint in one form; null if none is known. */
export function compilePricing(
  { pricing, prompt_unit }: Pick<DeclaredEndpoint, 'pricing' | 'prompt_unit'>,
  image: ImageCapabilities | null,
  video: VideoCapabilities | null,
): EndpointPricing | null {
  const units: UnitPrice[] = [...listImagePrices(image), ...listVideoPrices(video)]
  const tokens = listTokenPrices(image)
  if (!pricing && units.length === 0 && Object.keys(tokens).length === 0) return null
  const base: Pricing = { ...freeTokens, ...tokens, ...pricing }
  if (!pricing || prompt_unit === 'token') return units.length > 0 ? { ...base, units } : base
  const promptPrice = {
    billable: promptBillables[prompt_unit],
    unit: prompt_unit,
    cost_usd: pricing.prompt,
  }
  return { ...base, prompt: '0', units: [promptPrice, ...units] }
}

/** Images, videos or seconds have a price and tokens have none: text must not be generated there for nothing. */
export function lacksTokenPrice(
  { pricing, prompt_unit }: Pick<DeclaredEndpoint, 'pricing' | 'prompt_unit'>,
  image: ImageCapabilities | null,
  video: VideoCapabilities | null,
): boolean {
  if (pricing) return prompt_unit !== 'token'
  const hasUnits = listImagePrices(image).length > 0 || listVideoPrices(video).length > 0
  return hasUnits && Object.keys(listTokenPrices(image)).length === 0
}

const freeTokens = { prompt: '0', completion: '0' }

/** Rows by token are prices of tokens like any other. */
const tokenKeys = {
  input_text: 'prompt',
  input_font: 'prompt',
  input_image: 'image_token',
  input_reference: 'image_token',
  output_image: 'image_output',
} as const satisfies Record<ImageCapabilities['pricing'][number]['billable'], keyof Pricing>

function listTokenPrices(image: ImageCapabilities | null): Partial<Pricing> {
  const rows = image?.pricing.filter(({ unit }) => unit === 'token') ?? []
  return Object.fromEntries(rows.map(({ billable, cost_usd }) => [tokenKeys[billable], cost_usd]))
}

function listImagePrices(image: ImageCapabilities | null): UnitPrice[] {
  return image?.pricing.filter(({ unit }) => unit !== 'token') ?? []
}

function listVideoPrices(video: VideoCapabilities | null): UnitPrice[] {
  return Object.entries(video?.pricing_skus ?? {}).map(([name, cost_usd]) => {
    const [, unit, variant] = videoSkuPattern.exec(name) ?? []
    return { billable: 'output_video', unit: unit as BillingUnit, variant, cost_usd }
  })
}
