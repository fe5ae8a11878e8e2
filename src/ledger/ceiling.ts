import type { Size } from '../call/size.ts'
import type { Pricing } from '../catalog/price.ts'
import { nanoUnit, priceList, type Rates } from './rates.ts'

/** What an endpoint takes and gives, and for how much. */
export interface Capacity {
  pricing: Pricing | null
  context_length: number | null
  max_completion_tokens: number | null
  max_prompt_tokens: number | null
}

/** Where neither the client nor the catalogue says. */
const usualOutput = 32_768

/** The most a request can cost at an endpoint, in nano-dollars, rounded up. Null: nobody knows the price. */
export function ceilingOf(size: Size, endpoint: Capacity, at: number): bigint | null {
  if (!endpoint.pricing) return null
  const list = priceList(endpoint.pricing)
  const prompt = mostPrompt(size, endpoint)
  const output = mostOutput(size, endpoint)
  let most = 0n
  for (const rates of list.possible(at, prompt)) {
    const cost =
      BigInt(prompt) * dearestInput(rates, size) +
      BigInt(output) * dearestOf(rates).output +
      BigInt(whole(size.images)) * rates.image +
      BigInt(whole(size.webSearches)) * rates.webSearch +
      rates.request
    if (cost > most) most = cost
  }
  return (most * list.share + nanoUnit - 1n) / nanoUnit
}

function mostPrompt(size: Size, { max_prompt_tokens, context_length }: Capacity): number {
  return Math.min(whole(size.promptTokens), max_prompt_tokens ?? most, context_length ?? most)
}

/** What the request allows, if the endpoint gives as much; what the endpoint gives; or what is usual. */
function mostOutput(size: Size, { max_completion_tokens, context_length }: Capacity): number {
  const able = Math.min(max_completion_tokens ?? most, context_length ?? most)
  const asked = size.outputTokens === null ? (max_completion_tokens ?? usualOutput) : whole(size.outputTokens)
  return Math.min(asked, able) * Math.max(1, whole(size.choices))
}

/** More than any count can be. */
const most = 1e12

function whole(count: number): number {
  return count > 0 ? Math.min(Math.ceil(count), most) : 0
}

interface Dearest {
  input: bigint
  output: bigint
  /** With audio, with an hour's cache, with both. */
  special: (bigint | undefined)[]
}

const known = new WeakMap<Rates, Dearest>()

/** Pictures may be in anything, a document for one; sound and an hour's cache are asked for. */
function dearestOf(rates: Rates): Dearest {
  const found = known.get(rates)
  if (found) return found
  const dearest = {
    input: dearer(rates.input, rates.cacheRead, rates.cacheWrite, rates.inputImage),
    output: dearer(rates.output, rates.reasoning, rates.outputAudio, rates.outputImage),
    special: [],
  }
  known.set(rates, dearest)
  return dearest
}

function dearestInput(rates: Rates, { hasAudio, longCache }: Size): bigint {
  const { input, special } = dearestOf(rates)
  const kind = (hasAudio ? 1 : 0) + (longCache ? 2 : 0)
  if (kind === 0) return input
  special[kind] ??= dearer(
    input,
    hasAudio ? dearer(rates.inputAudio, rates.cacheReadAudio) : 0n,
    longCache ? rates.cacheWrite1h : 0n,
  )
  return special[kind]
}

function dearer(...rates: bigint[]): bigint {
  return rates.reduce((dearest, rate) => (rate > dearest ? rate : dearest), 0n)
}
