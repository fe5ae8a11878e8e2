import type { Pricing } from '../../src/catalog/price.ts'
import { serviceTiers } from '../../src/formats/vocabulary.ts'
import { convertImageRows, convertVideoSkus, type ImageRow, parseSizedKey } from './entry-media.ts'
import { convertUnitPrices } from './entry-prices.ts'
import { isServedMode, isTextMode } from './entry-traits.ts'
import { endpointKey, type Offer } from './offer.ts'
import { type PriceEntry, readCount, readPrice } from './price-list.ts'
import { resolveSellerModel, type Seller, sellers, splitKey } from './sellers.ts'

/** Providers whose formats select a service tier. */
const tierProviders = new Set([
  'openai',
  'azure',
  'google-ai-studio',
  'google-vertex',
  'amazon-bedrock',
  'fireworks',
])

/** The offers in the price list. Of two rows for the same endpoint the first seller's counts. */
export function listPriceListOffers(entries: PriceEntry[], providers: ReadonlySet<string>): Offer[] {
  const bySeller = Map.groupBy(entries, (entry) => entry.seller)
  const offers = new Map<string, Offer>()
  for (const seller of sellers.filter(({ provider }) => providers.has(provider))) {
    const rows = seller.names.flatMap((name) => bySeller.get(name) ?? [])
    for (const offer of listSellerOffers(seller, rows)) {
      const key = endpointKey(offer)
      if (!offers.has(key)) offers.set(key, offer)
    }
  }
  return [...offers.values()]
}

interface NamedRow {
  name: string
  variant?: string
  entry: PriceEntry
}

function listSellerOffers(seller: Seller, entries: PriceEntry[]): Offer[] {
  const rows = entries.filter(({ mode }) => isServedMode(mode)).map(toNamedRow)
  // Shorter names first: `claude-opus-4-5` before `claude-opus-4-5-20251101`.
  const models = Map.groupBy(
    rows.toSorted((a, b) => a.name.length - b.name.length),
    (row) => row.name,
  )
  return [...models].flatMap(([name, group]) => toOffers(seller, name, group))
}

function toNamedRow(entry: PriceEntry): NamedRow {
  const sized = parseSizedKey(entry.key)
  return sized
    ? { name: splitKey({ ...entry, key: sized.base }), variant: sized.variant, entry }
    : { name: splitKey(entry), entry }
}

/** The rows of one name: the model itself, and the prices of its sizes and qualities. */
function toOffers(seller: Seller, name: string, rows: NamedRow[]): Offer[] {
  const entry = (rows.find(({ variant }) => variant === undefined) ?? rows[0])?.entry
  const model = entry && resolveSellerModel(seller, entry, name)
  if (!entry || !model) return []
  const prices = convertUnitPrices(entry)
  const offer: Offer = {
    id: model.id,
    provider: seller.provider,
    upstream: model.upstream,
    ...(model.variant && { variant: model.variant }),
    ...(model.fullId && { fullId: model.fullId }),
    ...(model.quantization && { quantization: model.quantization }),
    ...(prices && { pricing: prices.pricing }),
    promptUnit: prices?.promptUnit ?? 'token',
    ...readLimits(entry),
    ...readMediaPrices(entry, rows),
    ...(seller.author && model.id.startsWith(`${seller.author}/`) && { isMaker: true }),
    entry,
  }
  return [offer, ...listTierOffers(offer, entry)]
}

/**
 * Images by the token have no rows here: their tokens are in `pricing`, and the prices of sizes and qualities in the
 * source say the same in another unit, so that both would be charged.
 */
function readMediaPrices(entry: PriceEntry, rows: NamedRow[]): Pick<Offer, 'images' | 'videos'> {
  if (entry.mode === 'video_generation') {
    const videos = convertVideoSkus(entry)
    return Object.keys(videos).length > 0 ? { videos } : {}
  }
  const isImage = entry.mode === 'image_generation' || entry.mode === 'image_edit'
  if (!isImage || readPrice(entry, 'output_cost_per_image_token') !== undefined) return {}
  const images: ImageRow[] = rows.flatMap((row) => convertImageRows(row.entry, row.variant))
  return images.length > 0 ? { images } : {}
}

function readLimits(entry: PriceEntry): Pick<Offer, 'context' | 'maxCompletion'> {
  const context = readCount(entry, 'max_input_tokens')
  const maxCompletion = isTextMode(entry.mode) ? readCount(entry, 'max_output_tokens') : undefined
  return { ...(context && { context }), ...(maxCompletion && { maxCompletion }) }
}

/** Prices that make a tier incomplete if the default tier has one and it has not. */
const distinguishingPrices: (keyof Pricing)[] = ['audio', 'audio_output', 'image_output', 'image_token']

/** The Messages format of cloud providers has no service tiers. */
function listTierOffers(offer: Offer, entry: PriceEntry): Offer[] {
  const { id, provider, pricing } = offer
  if (!pricing || !tierProviders.has(provider) || id.startsWith('anthropic/')) return []
  return serviceTiers.flatMap((tier) => {
    const prices = convertUnitPrices(entry, tier)
    return prices && isCompleteTier(prices.pricing, pricing)
      ? [{ ...offer, tier, pricing: prices.pricing }]
      : []
  })
}

/** Whether the tier has every kind of price that the default tier has, for prompts of every length. */
function isCompleteTier(tier: Pricing, standard: Pricing): boolean {
  const sizes = new Set(tier.overrides?.map((override) => override.min_prompt_tokens))
  return (
    tier.completion !== '0' &&
    distinguishingPrices.every((key) => standard[key] === undefined || tier[key] !== undefined) &&
    (standard.overrides ?? []).every(({ min_prompt_tokens: size }) => size === undefined || sizes.has(size))
  )
}
