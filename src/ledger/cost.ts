import type { EndpointPricing } from '../catalog/price.ts'
import { findUnitPrice } from '../catalog/unit-price.ts'
import { type BilledUnits, unitScales } from '../formats/call/units.ts'
import { countPromptTokens, type Usage } from '../formats/call/usage.ts'
import { nanoScale, priceListOf, type Rates, type UnitRate } from './rates.ts'

/** The cost of a reply at an endpoint's prices, in nano-dollars, rounded once. */
export interface Cost {
  total: bigint
  prompt: bigint
  completion: bigint
}

export const zeroCost: Cost = { total: 0n, prompt: 0n, completion: 0n }

export function addCosts(a: Cost, b: Cost): Cost {
  return {
    total: a.total + b.total,
    prompt: a.prompt + b.prompt,
    completion: a.completion + b.completion,
  }
}

/** Billable units of a request besides the tokens that usage reports. */
export interface UsedUnits {
  /** The images of the prompt. */
  images?: number
  units?: readonly BilledUnits[]
}

/** `at` is when the request was made and decides which conditional prices apply. */
export function computeCost(
  usage: Usage,
  pricing: EndpointPricing | null,
  at: number,
  { images = 0, units = [] }: UsedUnits = {},
): Cost {
  if (!pricing) return zeroCost
  const list = priceListOf(pricing)
  const rates = list.ratesAt(at, countPromptTokens(usage))
  const prompt =
    computePromptCost(usage, rates) +
    multiply(images, rates.image) +
    computeUnitCost(units, list.units, isInput)
  const completion =
    multiply(usage.output, rates.output) +
    multiply(usage.reasoning, rates.reasoning) +
    multiply(usage.outputAudio, rates.outputAudio) +
    multiply(usage.outputImage, rates.outputImage) +
    computeUnitCost(units, list.units, isOutput)
  const extra = rates.request + multiply(usage.webSearches, rates.webSearch)
  return {
    total: roundToNanos((prompt + completion + extra) * list.share),
    prompt: roundToNanos(prompt * list.share),
    completion: roundToNanos(completion * list.share),
  }
}

/** Computes the cost of web searches, which are billed even when the tokens of a reply are not. */
export function computeAuxiliaryCost(usage: Usage, pricing: EndpointPricing | null, at: number): Cost {
  if (!pricing || usage.webSearches === 0) return zeroCost
  const list = priceListOf(pricing)
  const rates = list.ratesAt(at, countPromptTokens(usage))
  return { ...zeroCost, total: roundToNanos(multiply(usage.webSearches, rates.webSearch) * list.share) }
}

function computePromptCost(usage: Usage, rates: Rates): bigint {
  return (
    multiply(usage.input + usage.inputVideo, rates.input) +
    multiply(usage.cacheRead, rates.cacheRead) +
    multiply(usage.cacheReadAudio, rates.cacheReadAudio) +
    multiply(usage.cacheWrite, rates.cacheWrite) +
    multiply(usage.cacheWrite1h, rates.cacheWrite1h) +
    multiply(usage.inputAudio, rates.inputAudio) +
    multiply(usage.inputImage, rates.inputImage)
  )
}

function isOutput({ billable }: BilledUnits): boolean {
  return billable.startsWith('output')
}

function isInput(used: BilledUnits): boolean {
  return !isOutput(used)
}

/** Computes the cost of units; those without a price row are not billed. */
export function computeUnitCost(
  units: readonly BilledUnits[],
  prices: readonly UnitRate[],
  includes: (used: BilledUnits) => boolean = () => true,
): bigint {
  let cost = 0n
  for (const used of units) {
    if (!includes(used)) continue
    const rate = findUnitPrice(prices, used)?.rate ?? 0n
    cost += (BigInt(used.quantity) * rate) / (unitScales[used.unit] ?? 1n)
  }
  return cost
}

export function multiply(count: number, rate: bigint): bigint {
  return count === 0 ? 0n : BigInt(count) * rate
}

/** Half a nano-dollar rounds up. */
function roundToNanos(scaled: bigint): bigint {
  return scaled === 0n ? 0n : (scaled + nanoScale / 2n) / nanoScale
}
