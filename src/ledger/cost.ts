import { promptTokens, type Usage } from '../call/usage.ts'
import type { Pricing } from '../catalog/price.ts'
import { nanoUnit, priceList, type Rates } from './rates.ts'

/** What a reply costs at an endpoint's prices, in nano-dollars, rounded once. */
export interface Cost {
  total: bigint
  prompt: bigint
  completion: bigint
}

export const noCost: Cost = { total: 0n, prompt: 0n, completion: 0n }

/**
 * `at` decides which conditional prices apply: the moment the request was made. `images` is how many were in
 * the request: no usage tells it.
 */
export function costOf(usage: Usage, pricing: Pricing | null, at: number, images = 0): Cost {
  if (!pricing) return noCost
  const list = priceList(pricing)
  const rates = list.rates(at, promptTokens(usage))
  const prompt = promptOf(usage, rates) + times(images, rates.image)
  const completion =
    times(usage.output, rates.output) +
    times(usage.reasoning, rates.reasoning) +
    times(usage.outputAudio, rates.outputAudio) +
    times(usage.outputImage, rates.outputImage)
  const extra = rates.request + times(usage.webSearches, rates.webSearch)
  return {
    total: nanos((prompt + completion + extra) * list.share),
    prompt: nanos(prompt * list.share),
    completion: nanos(completion * list.share),
  }
}

/** What was bought for a reply beside the model's own work. */
export function auxiliaryCost(usage: Usage, pricing: Pricing | null, at: number): Cost {
  if (!pricing || usage.webSearches === 0) return noCost
  const list = priceList(pricing)
  const rates = list.rates(at, promptTokens(usage))
  return { ...noCost, total: nanos(times(usage.webSearches, rates.webSearch) * list.share) }
}

function promptOf(usage: Usage, rates: Rates): bigint {
  return (
    times(usage.input + usage.inputVideo, rates.input) +
    times(usage.cacheRead, rates.cacheRead) +
    times(usage.cacheReadAudio, rates.cacheReadAudio) +
    times(usage.cacheWrite, rates.cacheWrite) +
    times(usage.cacheWrite1h, rates.cacheWrite1h) +
    times(usage.inputAudio, rates.inputAudio) +
    times(usage.inputImage, rates.inputImage)
  )
}

function times(count: number, rate: bigint): bigint {
  return count === 0 ? 0n : BigInt(count) * rate
}

/** Half a nano-dollar rounds up. */
function nanos(scaled: bigint): bigint {
  return scaled === 0n ? 0n : (scaled + nanoUnit / 2n) / nanoUnit
}
