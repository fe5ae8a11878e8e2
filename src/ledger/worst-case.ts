import type { EndpointPricing } from '../catalog/price.ts'
import type { RequestSize } from '../formats/call/size.ts'
import { countImageTokens, type ImageTokens } from '../formats/images/image-tokens.ts'
import { computeUnitCost, multiply } from './cost.ts'
import { nanoScale, priceListOf, type Rates } from './rates.ts'

/** The token limits of an endpoint, and its prices. */
export interface EndpointCapacity {
  pricing: EndpointPricing | null
  context_length: number | null
  max_completion_tokens: number | null
  max_prompt_tokens: number | null
  image_tokens?: ImageTokens | null
}

/** Used when neither the client nor the catalog sets a limit. */
const defaultOutputTokens = 32_768

/**
 * The most a request can cost at an endpoint, in nano-dollars, rounded up. Null when the price is unknown.
 */
export function computeWorstCaseCost(
  size: RequestSize,
  endpoint: EndpointCapacity,
  at: number,
): bigint | null {
  if (!endpoint.pricing) return null
  const list = priceListOf(endpoint.pricing)
  const prompt = computeMaxPromptTokens(size, endpoint)
  let worstCase = 0n
  for (const rates of list.possibleRates(at, prompt)) {
    const cost =
      multiply(prompt, computeInputRate(rates, size)) +
      computeOutputCost(size, endpoint, rates) +
      multiply(clampCount(size.images), rates.image) +
      multiply(clampCount(size.webSearches), rates.webSearch) +
      rates.request
    if (cost > worstCase) worstCase = cost
  }
  if (size.units.length > 0) worstCase += computeUnitCost(size.units, list.units)
  return (worstCase * list.share + nanoScale - 1n) / nanoScale
}

function computeMaxPromptTokens(
  size: RequestSize,
  { max_prompt_tokens, context_length, image_tokens }: EndpointCapacity,
): number {
  const longest = Math.min(max_prompt_tokens ?? maxCount, context_length ?? maxCount)
  return Math.min(
    clampCount(size.promptTokens - (size.generatedImages ? countSpareTokens(size, image_tokens) : 0)),
    longest * Math.max(1, clampCount(size.prompts ?? 1)),
  )
}

/** The tokens of images whose model is known, and of what comes with them; otherwise as many as a reply can have. */
function computeOutputCost(size: RequestSize, endpoint: EndpointCapacity, rates: Rates): bigint {
  const { output } = computeWorstCaseRates(rates)
  const { generatedImages } = size
  const { image_tokens } = endpoint
  if (!image_tokens) return multiply(computeMaxOutputTokens(size, endpoint), output)
  if (!generatedImages) return computeConversationCost(size, endpoint, image_tokens, rates)
  const images = Math.max(1, clampCount(size.choices))
  const imageTokens = countImageTokens(image_tokens, generatedImages.requested)
  return (
    multiply(images * imageTokens, output) +
    multiply(images * image_tokens.text, maxRate(rates.output, rates.reasoning))
  )
}

const anyImage = { previews: 0 }

/** A reply with as many images as the model can put into it, or the request allows; the rest of it is text. */
function computeConversationCost(
  size: RequestSize,
  endpoint: EndpointCapacity,
  known: ImageTokens,
  rates: Rates,
): bigint {
  const { replyImages = anyImage } = size
  const choices = Math.max(1, clampCount(size.choices))
  const tokens = Math.min(
    computeMaxOutputTokens({ ...size, choices: 1 }, endpoint),
    known.replyTokens ?? maxCount,
  )
  const perReply = replyImages && (known.replyImages ?? maxCount) * countImageTokens(known, replyImages)
  const imageTokens = Math.min(tokens, perReply ?? 0)
  return (
    multiply(choices * imageTokens, computeWorstCaseRates(rates).output) +
    multiply(choices * (tokens - imageTokens), maxRate(rates.output, rates.reasoning, rates.outputAudio))
  )
}

/** The tokens of input images that this model does not count. */
function countSpareTokens({ generatedImages }: RequestSize, known: ImageTokens | null = null): number {
  if (!generatedImages || !known) return 0
  const { inputImages, maxTokensPerInput } = generatedImages
  return inputImages * (maxTokensPerInput - known.input)
}

/** Computes the requested maximum up to the limit of the endpoint; else that limit; else the default. */
function computeMaxOutputTokens(
  size: RequestSize,
  { max_completion_tokens, context_length }: EndpointCapacity,
): number {
  const supported = Math.min(max_completion_tokens ?? maxCount, context_length ?? maxCount)
  const requested =
    size.outputTokens === null
      ? (max_completion_tokens ?? defaultOutputTokens)
      : clampCount(size.outputTokens)
  return Math.min(requested, supported) * Math.max(1, clampCount(size.choices))
}

/** Maximum count, larger than any real one. */
const maxCount = 1e12

function clampCount(count: number): number {
  return count > 0 ? Math.min(Math.ceil(count), maxCount) : 0
}

interface WorstCaseRates {
  input: bigint
  output: bigint
  /** Rates with audio, with the one-hour cache, and with both. */
  inputVariants: (bigint | undefined)[]
}

const worstCaseCache = new WeakMap<Rates, WorstCaseRates>()

/**
 * Computes the highest rates. Any input may contain images, a document for example; audio and the one-hour cache have
 * to be requested.
 */
function computeWorstCaseRates(rates: Rates): WorstCaseRates {
  const cached = worstCaseCache.get(rates)
  if (cached) return cached
  const worstCase = {
    input: maxRate(rates.input, rates.cacheRead, rates.cacheWrite, rates.inputImage),
    output: maxRate(rates.output, rates.reasoning, rates.outputAudio, rates.outputImage),
    inputVariants: [],
  }
  worstCaseCache.set(rates, worstCase)
  return worstCase
}

function computeInputRate(rates: Rates, { hasAudio, hasLongCache }: RequestSize): bigint {
  const { input, inputVariants } = computeWorstCaseRates(rates)
  const kind = (hasAudio ? 1 : 0) + (hasLongCache ? 2 : 0)
  if (kind === 0) return input
  inputVariants[kind] ??= maxRate(
    input,
    hasAudio ? maxRate(rates.inputAudio, rates.cacheReadAudio) : 0n,
    hasLongCache ? rates.cacheWrite1h : 0n,
  )
  return inputVariants[kind]
}

function maxRate(...rates: bigint[]): bigint {
  return rates.reduce((highest, rate) => (rate > highest ? rate : highest), 0n)
}
