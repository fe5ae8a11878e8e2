import { calcPrice, findProvider, type ModelInfo } from '@pydantic/genai-prices'
import type { ModelDeclaration } from '../../src/catalogue/declared-model.ts'
import type { Pricing } from '../../src/catalogue/price.ts'
import { findReleaseDate } from './dates.ts'
import { buildImageCapabilities } from './images.ts'
import { type Listing, listNames, type PriceSource, sources } from './listings.ts'
import { type ConvertedPrices, convertPrices } from './prices.ts'
import { inferTraits } from './traits.ts'

type EndpointDeclaration = ModelDeclaration['endpoints'][number]

/** One model of one provider in the price data. */
interface Offer {
  id: string
  upstream: string
  source: PriceSource
  info: ModelInfo
  price: ConvertedPrices
}

export interface SnapshotDeclaration {
  source: string
  version: string
  date: string
  models: ModelDeclaration[]
}

/** Deterministic for a date and a package version. */
export function buildSnapshot(version: string, date: string): SnapshotDeclaration {
  const known = sources.filter((source) => !source.isAttachOnly).flatMap((source) => listOffers(source, date))
  const ids = new Set(known.map((offer) => offer.id))
  const offers = sources.flatMap((source) =>
    source.isAttachOnly
      ? listOffers(source, date).filter((offer) => ids.has(offer.id))
      : known.filter((offer) => offer.source === source),
  )
  const names = listKnownNames()
  const models = [...Map.groupBy(offers, (offer) => offer.id).values()].map((group) => toModel(group, names))
  return {
    source: '@pydantic/genai-prices',
    version,
    date,
    models: removeSharedAliases(models).sort((a, b) => (a.id < b.id ? -1 : 1)),
  }
}

function listOffers(source: PriceSource, date: string): Offer[] {
  const provider = findProvider({ providerId: source.source })
  if (!provider) throw new Error(`the price data has no provider ${source.source}`)
  const byRule = provider.models.flatMap(
    (info) => source.rule?.(info).map((listing) => ({ listing, info })) ?? [],
  )
  const byTable = Object.entries(source.table ?? {}).map(([upstream, id]) => ({
    listing: { id, upstream },
    info: findModel(source.source, source.priceName?.(upstream) ?? upstream),
  }))
  return [...byRule, ...byTable].flatMap(({ listing, info }) => toOffer(source, listing, info, date))
}

function findModel(providerId: string, upstream: string): ModelInfo {
  const result = calcPrice({}, upstream, { providerId })
  if (!result) throw new Error(`the price data of ${providerId} has no ${upstream}`)
  return result.model
}

function toOffer(source: PriceSource, { id, upstream }: Listing, info: ModelInfo, date: string): Offer[] {
  const price = convertPrices(info, date)
  const isFullyPriced = price?.unpriced.every((unit) => unit === 'input_video_mtok' && !acceptsVideo(id))
  return price && isFullyPriced ? [{ id, upstream, source, info, price }] : []
}

function acceptsVideo(id: string): boolean {
  return inferTraits(id).input_modalities?.includes('video') ?? false
}

/** Where the maker has one of these prices, an offer without it is incomplete. */
const distinguishingPrices: (keyof Pricing)[] = [
  'audio',
  'audio_output',
  'image_output',
  'image_token',
  'request',
]

function toModel(all: Offer[], names: string[]): ModelDeclaration {
  const requiredPrices = distinguishingPrices.filter((key) => all[0]?.price.pricing[key] !== undefined)
  const offers = all.filter((offer) => requiredPrices.every((key) => offer.price.pricing[key] !== undefined))
  const [main] = offers
  if (!main) throw new Error('a model has no offer')
  const context = offers.find((offer) => offer.info.context_window)?.info.context_window
  const traits = inferTraits(main.id)
  const created = findReleaseDate(
    main.id,
    offers.map((offer) => offer.upstream),
    names,
  )
  const aliases = listAliases(main.id, offers)
  const description = describeOffer(main)
  return {
    id: main.id,
    name: chooseDisplayName(main.id, offers),
    ...(description && { description }),
    ...(aliases.length > 0 && { aliases }),
    ...(created && { created }),
    ...(context && { context_length: context }),
    ...traits,
    ...(traits.output_modalities?.includes('image') && {
      image: buildImageCapabilities(main.id, main.price.pricing),
    }),
    endpoints: offers.map((offer) => toEndpoint(offer, context)),
  }
}

function toEndpoint(
  { id, source, upstream, info, price }: Offer,
  context: number | undefined,
): EndpointDeclaration {
  const dialects = source.dialects?.(id)
  return {
    provider: source.provider,
    upstream_model: upstream,
    ...(source.variant && { variant: source.variant }),
    ...(info.context_window && info.context_window !== context && { context_length: info.context_window }),
    ...(dialects && { dialects }),
    ...(price.promptUnit !== 'token' && { prompt_unit: price.promptUnit }),
    pricing: price.pricing,
  }
}

/** The maker's description, with the unit if it is not priced per token. */
function describeOffer({ source, info, price }: Offer): string {
  const text = source.isMaker ? (info.description ?? '').replace(/\s+/g, ' ').trim() : ''
  const unit = price.promptUnit === 'second' ? 'Priced per second of audio.' : ''
  return [text, unit].filter(Boolean).join(' ')
}

/** The router's name, else the maker's unless the price data has it in lower case. */
function chooseDisplayName(id: string, offers: Offer[]): string {
  const routed = offers.find((offer) => offer.source.isRouter)?.info.name
  const makerName = offers.find((offer) => offer.source.isMaker && offer.upstream === offer.info.id)?.info
    .name
  const name = routed ?? (makerName && /[A-Z]/.test(makerName) ? makerName : toTitle(id))
  return name.replace(/\s+/g, ' ').trim()
}

function toTitle(id: string): string {
  const [, slug = '', day, variant] = /\/(.*?)(?:-(\d{4}-\d{2}-\d{2}))?(?::(\w+))?$/.exec(id) ?? []
  const words = slug.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  const suffix = [day, variant].flatMap((part) => (part ? [` (${part})`] : [])).join('')
  return words.join(' ').replace(/^Gpt /, 'GPT-').replace(/ Tts$/, ' TTS') + suffix
}

/** The names that clients of the maker's API use for the model. */
function listAliases(id: string, offers: Offer[]): string[] {
  const author = id.slice(0, id.indexOf('/'))
  const names = offers
    .filter((offer) => offer.source.isMaker)
    .flatMap(({ upstream }) => [upstream, `${author}/${upstream}`])
  return [...new Set(names)].filter((name) => name !== id)
}

/** Removes aliases of more than one model. */
function removeSharedAliases(models: ModelDeclaration[]): ModelDeclaration[] {
  const uses = new Map<string, number>()
  for (const name of models.flatMap((model) => [model.id, ...(model.aliases ?? [])])) {
    uses.set(name, (uses.get(name) ?? 0) + 1)
  }
  return models.map(({ aliases = [], ...model }) => {
    const unique = aliases.filter((alias) => uses.get(alias) === 1)
    return unique.length > 0 ? { ...model, aliases: unique } : model
  })
}

/** Every literal name in the price data; some contain the release date. */
function listKnownNames(): string[] {
  const ids = [...new Set(sources.map(({ source }) => source))]
  return ids.flatMap((providerId) =>
    (findProvider({ providerId })?.models ?? []).flatMap((info) => [info.id, ...listNames(info.match)]),
  )
}
