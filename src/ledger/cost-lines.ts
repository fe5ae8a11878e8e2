import type { EndpointPricing } from '../catalog/price.ts'
import { findUnitPrice } from '../catalog/unit-price.ts'
import { type BilledUnits, unitScales } from '../formats/call/units.ts'
import { countPromptTokens, type Usage } from '../formats/call/usage.ts'
import type { UsedUnits } from './cost.ts'
import { priceListOf, type Rates, rateDecimals, shareScale } from './rates.ts'

/** A summand of `computeCost`. Amounts are exact, in units of 10^-39 USD. */
export interface CostLine {
  kind: string
  unit: string
  quantity: number
  /** Price of one unit, before the discount; null for a line without one. */
  rate: bigint | null
  amount: bigint
}

export const amountDecimals = rateDecimals + 9

/** Tokens by what they are, and the rate they have. */
const tokenKinds: readonly [keyof Usage & string, keyof Rates, string][] = [
  ['input', 'input', 'input'],
  ['inputVideo', 'input', 'input_video'],
  ['cacheRead', 'cacheRead', 'cache_read'],
  ['cacheReadAudio', 'cacheReadAudio', 'cache_read_audio'],
  ['cacheWrite', 'cacheWrite', 'cache_write'],
  ['cacheWrite1h', 'cacheWrite1h', 'cache_write_1h'],
  ['inputAudio', 'inputAudio', 'input_audio'],
  ['inputImage', 'inputImage', 'input_image'],
  ['output', 'output', 'output'],
  ['reasoning', 'reasoning', 'reasoning'],
  ['outputAudio', 'outputAudio', 'output_audio'],
  ['outputImage', 'outputImage', 'output_image'],
]

/** The price of a reply line by line, with a line for the discount. Their sum, rounded once, is that of `computeCost`. */
export function itemizeCost(
  usage: Usage,
  pricing: EndpointPricing,
  at: number,
  { images = 0, units = [] }: UsedUnits = {},
): CostLine[] {
  const list = priceListOf(pricing)
  const rates = list.ratesAt(at, countPromptTokens(usage))
  const lines = [
    ...tokenKinds.map(([count, rate, kind]) => toLine(kind, 'token', usage[count] ?? 0, rates[rate])),
    toLine('image', 'image', images, rates.image),
    toLine('request', 'request', 1, rates.request),
    toLine('web_search', 'search', usage.webSearches, rates.webSearch),
    ...units.map((used) => toUnitLine(used, findUnitPrice(list.units, used)?.rate ?? 0n)),
  ].filter(({ quantity, kind, amount }) => quantity > 0 && (kind !== 'request' || amount > 0n))
  const discount = sumAmounts(lines) * (shareScale - list.share)
  if (discount === 0n) return lines
  const saved = { kind: 'discount', unit: 'share', quantity: 1, rate: null, amount: -(discount / shareScale) }
  return [...lines, saved]
}

function toLine(kind: string, unit: string, quantity: number, rate: bigint): CostLine {
  return { kind, unit, quantity, rate, amount: BigInt(quantity) * rate * shareScale }
}

/** Quantities are counted in parts of a unit: seconds in milliseconds. */
function toUnitLine({ billable, unit, quantity }: BilledUnits, rate: bigint): CostLine {
  const scale = unitScales[unit] ?? 1n
  const amount = ((BigInt(quantity) * rate) / scale) * shareScale
  return { kind: billable, unit, quantity: quantity / Number(scale), rate, amount }
}

export function sumAmounts(lines: readonly CostLine[]): bigint {
  return lines.reduce((sum, { amount }) => sum + amount, 0n)
}
