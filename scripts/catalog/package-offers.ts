import { calcPrice, findProvider, type ModelInfo } from '@pydantic/genai-prices'
import { type Listing, listNames, type PriceSource, sources } from './listings.ts'
import type { Offer } from './offer.ts'
import { convertPrices } from './prices.ts'
import { inferTraits } from './traits.ts'

/** The offers in the price data of @pydantic/genai-prices, makers first. */
export function listPackageOffers(date: string): Offer[] {
  const known = sources.filter((source) => !source.isAttachOnly).flatMap((source) => listOffers(source, date))
  const ids = new Set(known.map(({ offer }) => offer.id))
  return sources.flatMap((source) => {
    const offers = source.isAttachOnly
      ? listOffers(source, date).filter(({ offer }) => ids.has(offer.id))
      : known.filter((entry) => entry.source === source)
    return offers.map(({ offer }) => offer)
  })
}

interface SourcedOffer {
  source: PriceSource
  offer: Offer
}

function listOffers(source: PriceSource, date: string): SourcedOffer[] {
  const provider = findProvider({ providerId: source.source })
  if (!provider) throw new Error(`the price data has no provider ${source.source}`)
  const byRule = provider.models.flatMap(
    (info) => source.rule?.(info).map((listing) => ({ listing, info })) ?? [],
  )
  const byTable = Object.entries(source.table ?? {}).map(([upstream, id]) => ({
    listing: { id, upstream },
    info: findModel(source.source, source.priceName?.(upstream) ?? upstream),
  }))
  return [...byRule, ...byTable].flatMap(({ listing, info }) =>
    toOffer(source, listing, info, date).map((offer) => ({ source, offer })),
  )
}

function findModel(providerId: string, upstream: string): ModelInfo {
  const result = calcPrice({}, upstream, { providerId })
  if (!result) throw new Error(`the price data of ${providerId} has no ${upstream}`)
  return result.model
}

function toOffer(source: PriceSource, { id, upstream }: Listing, info: ModelInfo, date: string): Offer[] {
  const price = convertPrices(info, date)
  const isFullyPriced = price?.unpriced.every((unit) => unit === 'input_video_mtok' && !acceptsVideo(id))
  if (!price || !isFullyPriced) return []
  const wireFormats = source.wireFormats?.(id)
  const description = source.isMaker ? (info.description ?? '').replace(/\s+/g, ' ').trim() : ''
  const name = chooseName(source, upstream, info)
  return [
    {
      id,
      provider: source.provider,
      upstream,
      ...(source.variant && { variant: source.variant }),
      pricing: price.pricing,
      promptUnit: price.promptUnit,
      ...(info.context_window && { context: info.context_window }),
      ...(wireFormats && { wireFormats }),
      ...(source.isMaker && { isMaker: true }),
      ...(source.isRouter && { isRouter: true }),
      ...(name && { name }),
      ...(description && { description }),
    },
  ]
}

function acceptsVideo(id: string): boolean {
  return inferTraits(id, []).input_modalities?.includes('video') ?? false
}

/** A router's names are edited; a maker's are, unless the price data has them in lower case. */
function chooseName(source: PriceSource, upstream: string, { id, name }: ModelInfo): string | undefined {
  if (source.isRouter) return name
  return source.isMaker && upstream === id && name && /[A-Z]/.test(name) ? name : undefined
}

/** Every literal name in the price data; some contain the release date. */
export function listKnownNames(): string[] {
  return listProviders().flatMap(({ models }) =>
    models.flatMap((info) => [info.id, ...listNames(info.match)]),
  )
}

/** The date of the newest price in effect: the package has no other date. */
export function findNewestPrice(date: string): string {
  const dates = listProviders().flatMap(({ models }) =>
    models.flatMap(({ prices }) =>
      Array.isArray(prices)
        ? prices.flatMap(({ constraint }) =>
            constraint?.type === 'start_date' ? [constraint.start_date] : [],
          )
        : [],
    ),
  )
  return (
    dates
      .filter((day) => day <= date)
      .toSorted()
      .at(-1) ?? ''
  )
}

function listProviders() {
  return [...new Set(sources.map(({ source }) => source))].flatMap(
    (providerId) => findProvider({ providerId }) ?? [],
  )
}
