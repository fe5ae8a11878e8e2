import type { ModelDeclaration } from '../../src/catalog/declared-model.ts'
import type { Pricing } from '../../src/catalog/price.ts'
import type { Provider } from '../../src/catalog/provider.ts'
import { findReleaseDate } from './dates.ts'
import { buildTokenRows, type ImageRow } from './entry-media.ts'
import { readRejectedParameters } from './entry-traits.ts'
import { chooseFormats } from './formats.ts'
import { buildImageCapabilities } from './images.ts'
import type { Offer } from './offer.ts'
import { inferTraits } from './traits.ts'
import { buildVideoCapabilities } from './videos.ts'

type EndpointDeclaration = ModelDeclaration['endpoints'][number]

/** Prices that make an offer incomplete if the maker has one and it has not. */
const distinguishingPrices: (keyof Pricing)[] = [
  'audio',
  'audio_output',
  'image_output',
  'image_token',
  'request',
]

export interface BuiltModel {
  model: ModelDeclaration
  missingFormats: string[]
}

/** One model from all of its offers. */
export function buildModel(
  all: Offer[],
  providers: ReadonlyMap<string, Provider>,
  names: string[],
): BuiltModel {
  const complete = selectComplete(all.toSorted((a, b) => rankOffer(a) - rankOffer(b)))
  const context = complete.find((offer) => offer.context)?.context
  const offers = complete.map((offer) => alignContext(offer, context))
  const [main] = offers
  if (!main) throw new Error('a model has no offer')
  const traits = inferTraits(
    main.id,
    offers.flatMap(({ entry }) => entry ?? []),
  )
  const output = traits.output_modalities ?? ['text']
  const media = {
    ...(output.includes('image') && { image: buildImageCapabilities(main.id, listImageRows(main)) }),
    ...(output.includes('video') && { video: buildVideoCapabilities(main) }),
  }
  const choices = offers.map((offer) => chooseOfferFormats(offer, providers, output))
  const model = {
    id: main.id,
    name: chooseDisplayName(main.id, offers),
    ...describeModel(main, offers, names),
    ...(context && { context_length: context }),
    ...traits,
    ...media,
    endpoints: offers.map((offer, index) => ({
      ...toEndpoint(offer, context),
      ...readEndpointParameters(offer, traits.supported_parameters),
      ...readEndpointMedia(offer, main, media),
      ...(choices[index]?.wireFormats && { dialects: choices[index].wireFormats }),
    })),
  }
  return { model, missingFormats: choices.flatMap(({ missing }) => missing) }
}

/** Makers before hosts, aggregators last, and service tiers after the default one. */
function rankOffer({ isMaker, isRouter, tier }: Offer): number {
  return (isMaker ? 0 : isRouter ? 4 : 2) + (tier ? 1 : 0)
}

function selectComplete(offers: Offer[]): Offer[] {
  const pricing = offers[0]?.pricing
  const required = distinguishingPrices.filter((key) => pricing?.[key] !== undefined)
  return offers.filter(
    (offer) => !offer.pricing || required.every((key) => offer.pricing?.[key] !== undefined),
  )
}

/**
 * Corrects the context of a host, for which the price list may have the longest prompt: the context of the model less
 * the longest reply.
 */
function alignContext(offer: Offer, context: number | undefined): Offer {
  const { context: prompt, maxCompletion } = offer
  const isPromptLimit = context && prompt && maxCompletion && prompt + maxCompletion === context
  return isPromptLimit ? { ...offer, context, maxPrompt: prompt } : offer
}

function chooseOfferFormats(
  offer: Offer,
  providers: ReadonlyMap<string, Provider>,
  output: readonly string[],
) {
  const provider = providers.get(offer.provider)
  if (!provider) throw new Error(`there is no provider ${offer.provider}`)
  return chooseFormats(provider, offer.id, output, offer.entry?.mode === 'responses')
}

function describeModel(main: Offer, offers: Offer[], names: string[]): Partial<ModelDeclaration> {
  const aliases = listAliases(main.id, offers)
  const upstreams = offers.map((offer) => offer.upstream)
  const created = findReleaseDate(main.id, upstreams, names)
  const description = [main.description, ...describeUnit(main)].filter(Boolean).join(' ')
  const end = main.entry?.fields.deprecation_date
  return {
    ...(description && { description }),
    ...(aliases.length > 0 && { aliases }),
    ...(created && { created }),
    ...(typeof end === 'string' && { expiration_date: end }),
  }
}

const unitDescriptions = {
  token: [],
  second: ['Priced per second of audio.'],
  character: ['Priced per character.'],
  search: ['Priced per search.'],
} as const

function describeUnit({ promptUnit }: Offer): readonly string[] {
  return unitDescriptions[promptUnit]
}

function toEndpoint(offer: Offer, context: number | undefined): EndpointDeclaration {
  const { provider, upstream, variant, tier, quantization, promptUnit, pricing, maxPrompt } = offer
  const maxCompletion = limitCompletion(offer)
  return {
    provider,
    upstream_model: upstream,
    ...(variant && { variant: tier ? `${variant}-${tier}` : variant }),
    ...(tier && { service_tier: tier }),
    ...(offer.context && offer.context !== context && { context_length: offer.context }),
    ...(maxPrompt && { max_prompt_tokens: maxPrompt }),
    ...(maxCompletion && { max_completion_tokens: maxCompletion }),
    ...(quantization && { quantization }),
    ...(promptUnit !== 'token' && { prompt_unit: promptUnit }),
    ...(pricing && { pricing }),
  }
}

/** The model's parameters without those that the price list says the provider rejects. */
function readEndpointParameters(
  { entry }: Offer,
  supported: ModelDeclaration['supported_parameters'],
): Pick<EndpointDeclaration, 'supported_parameters'> {
  const rejected = new Set(entry ? readRejectedParameters(entry) : [])
  const accepted = supported?.filter((name) => !rejected.has(name))
  return accepted && accepted.length < (supported?.length ?? 0) ? { supported_parameters: accepted } : {}
}

/** A reply cannot be longer than the context. */
function limitCompletion({ context, maxCompletion }: Offer): number | undefined {
  return maxCompletion && context && maxCompletion > context ? undefined : maxCompletion
}

function listImageRows({ images = [], pricing }: Offer): ImageRow[] {
  return pricing && images.length === 0 ? buildTokenRows(pricing) : images
}

/** Prices of images and videos, where they differ from those of the model. */
function readEndpointMedia(
  offer: Offer,
  main: Offer,
  { image, video }: Pick<ModelDeclaration, 'image' | 'video'>,
): Pick<EndpointDeclaration, 'image' | 'video'> {
  if (offer === main) return {}
  const pricing = listImageRows(offer)
  const skus = offer.videos ?? {}
  return {
    ...(image &&
      JSON.stringify(pricing) !== JSON.stringify(image.pricing) && { image: { ...image, pricing } }),
    ...(video &&
      JSON.stringify(skus) !== JSON.stringify(video.pricing_skus ?? {}) && {
        video: buildVideoCapabilities(offer),
      }),
  }
}

/** The router's name, else the maker's. */
function chooseDisplayName(id: string, offers: Offer[]): string {
  const routed = offers.find((offer) => offer.isRouter)?.name
  const name = routed ?? offers.find((offer) => offer.isMaker && offer.name)?.name ?? toTitle(id)
  return name.replace(/\s+/g, ' ').trim()
}

function toTitle(id: string): string {
  const [, slug = '', day, variant] = /\/(.*?)(?:-(\d{4}-\d{2}-\d{2}))?(?::(\w+))?$/.exec(id) ?? []
  const words = slug.split(/[-_]/).map(toTitleWord)
  const suffix = [day, variant].flatMap((part) => (part ? [` (${part})`] : [])).join('')
  return (
    words
      .join(' ')
      .replace(/^GPT /, 'GPT-')
      .replace(/^Dall E /, 'DALL-E ') + suffix
  )
}

/** Sizes such as 70B and abbreviations in capitals, other words with a first capital. */
function toTitleWord(word: string): string {
  return /^(a?\d+(\.\d+)?[bmkx]|gpt|glm|vl|tts|it|moe|r1|xl)$/.test(word)
    ? word.toUpperCase()
    : word.charAt(0).toUpperCase() + word.slice(1)
}

/** The names that clients of the maker's API use for the model. */
function listAliases(id: string, offers: Offer[]): string[] {
  const author = id.slice(0, id.indexOf('/'))
  const names = offers
    .filter((offer) => offer.isMaker)
    .flatMap(({ upstream }) => [upstream, `${author}/${upstream}`])
  return [...new Set(names)].filter((name) => name !== id)
}
