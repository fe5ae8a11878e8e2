import type { EndpointPricing } from '../catalog/price.ts'
import type { BilledUnits } from '../formats/call/units.ts'
import {
  addUsage,
  countCompletionTokens,
  countPromptTokens,
  type Usage,
  zeroUsage,
} from '../formats/call/usage.ts'
import type { ChargeFlag, UsageSource } from '../platform/db/generation-table.ts'
import { nanosFromUsd } from '../platform/money/money.ts'
import { addCosts, type Cost, computeAuxiliaryCost, computeCost, zeroCost } from './cost.ts'

/** The billable facts of a reply that has ended, in whatever way. */
export interface BillableReply {
  usage: Usage | null
  /** The provider marked the end, so its count is final. */
  complete: boolean
  /** Characters of the reply, without the text of an error. */
  characters: number
  /** A finish reason was reported. */
  finished: boolean
  /** A finish reason was `error`. */
  failed: boolean
  /** Units other than tokens that the reply is billed for. */
  units?: readonly BilledUnits[]
}

/** The terms of a charge besides the reply itself. */
export interface ChargeTerms {
  pricing: EndpointPricing | null
  /** Time of the request, which selects conditional prices. */
  at: number
  isByok: boolean
  /** The share of the list price that is charged for a request with the caller's BYOK key. */
  byokFee: number
  /** Amount held from credits, and the additional amount held where BYOK usage counts toward limits. */
  hold: { amount: bigint; byok: bigint }
  promptEstimate: () => number
  inputImages: number
}

export interface Charge {
  usage: Usage
  /** Units other than tokens that were billed. */
  units: readonly BilledUnits[]
  source: UsageSource
  /** Cost at list prices. */
  listPrice: Cost
  /** Charged to credits: for a BYOK key, the fee. */
  cost: bigint
  /** Cost at list prices where a BYOK key was used, else zero. */
  byok: bigint
  /** The provider's price as it is recorded: what BYOK usage counts, or else the list price. */
  upstream: bigint
  flag: ChargeFlag | null
  /** What the prompt costs less than without the provider's prompt cache, at list prices; absent if that was not used. */
  cacheSavings?: bigint
}

export const zeroCharge: Charge = {
  usage: zeroUsage,
  units: [],
  source: 'none',
  listPrice: zeroCost,
  cost: 0n,
  byok: 0n,
  upstream: 0n,
  flag: null,
}

/** The charge of two replies, such as two turns of one request. */
export function addCharges(a: Charge, b: Charge): Charge {
  return {
    usage: addUsage(a.usage, b.usage),
    units: [...a.units, ...b.units],
    source: addSources(a.source, b.source),
    listPrice: addCosts(a.listPrice, b.listPrice),
    cost: a.cost + b.cost,
    byok: a.byok + b.byok,
    upstream: a.upstream + b.upstream,
    flag: a.flag ?? b.flag,
    ...((a.cacheSavings ?? b.cacheSavings) !== undefined && {
      cacheSavings: (a.cacheSavings ?? 0n) + (b.cacheSavings ?? 0n),
    }),
  }
}

function addSources(a: UsageSource, b: UsageSource): UsageSource {
  if (a === 'none') return b
  return b === 'none' ? a : a === b ? a : 'estimated'
}

const noUnits: readonly BilledUnits[] = []

/** The settlement table of docs/billing.md. */
export function priceReply(reply: BillableReply, terms: ChargeTerms): Charge {
  const reported = reply.usage !== null && isPlausible(reply.usage) ? reply.usage : null
  const isFree = hasNoBillableTokens(reply, reported)
  const units = isFree || !reply.units ? noUnits : reply.units.filter(isPlausibleUnit)
  const counted = isFree ? useReported(reported) : countUsage(reported, reply, terms)
  const listPrice = isFree
    ? computeAuxiliaryCost(counted.usage, terms.pricing, terms.at)
    : computeListPrice(counted.usage, units, terms)
  const price = terms.isByok ? computeFee(listPrice.total, terms.byokFee) : listPrice.total
  const byokPrice = terms.isByok ? listPrice.total : 0n
  const cost = minAmount(price, terms.hold.amount)
  const byok = minAmount(byokPrice, terms.hold.amount + terms.hold.byok - cost)
  const isCapped = cost < price || byok < byokPrice
  const upstream = terms.isByok ? byok : listPrice.total
  const { cacheRead, cacheReadAudio, cacheWrite, cacheWrite1h } = counted.usage
  const isCached = cacheRead > 0 || cacheWrite > 0 || cacheWrite1h > 0 || cacheReadAudio > 0
  return {
    usage: counted.usage,
    source: counted.source,
    units,
    listPrice,
    cost,
    byok,
    upstream,
    flag: resolveFlag(reply, reported, counted, isCapped),
    ...(isCached && terms.pricing && !isFree && { cacheSavings: computeCacheSavings(counted.usage, terms) }),
  }
}

/** The difference to the same prompt without a cache; negative if writing to it cost more than reading from it saved. */
function computeCacheSavings(usage: Usage, { pricing, at, inputImages }: ChargeTerms): bigint {
  if (!pricing) return 0n
  const priceOf = (counted: Usage) => computeCost(counted, pricing, at, { images: inputImages }).total
  return priceOf(toUncachedUsage(usage)) - priceOf(usage)
}

/** The same tokens as if nothing had been cached. */
export function toUncachedUsage(usage: Usage): Usage {
  const { input, inputAudio, cacheRead, cacheReadAudio, cacheWrite, cacheWrite1h } = usage
  return {
    ...usage,
    input: input + cacheRead + cacheWrite + cacheWrite1h,
    inputAudio: inputAudio + cacheReadAudio,
    ...{ cacheRead: 0, cacheReadAudio: 0, cacheWrite: 0, cacheWrite1h: 0 },
  }
}

function resolveFlag(
  { usage, complete, units }: BillableReply,
  reported: Usage | null,
  { source }: CountedUsage,
  isCapped: boolean,
): ChargeFlag | null {
  if (reported !== usage || units?.some((used) => !isPlausibleUnit(used))) return 'implausible'
  if (isCapped) return 'capped'
  return complete && source === 'estimated' ? 'uncounted' : null
}

/** The reply ended with an error, or produced neither output nor a finish reason. */
function hasNoBillableTokens(
  { failed, finished, complete, characters }: BillableReply,
  reported: Usage | null,
): boolean {
  if (failed || finished) return failed
  return reported !== null && complete ? countCompletionTokens(reported) === 0 : characters === 0
}

type CountedUsage = Pick<Charge, 'usage' | 'source'>

function useReported(reported: Usage | null): CountedUsage {
  return reported === null ? { usage: zeroUsage, source: 'none' } : { usage: reported, source: 'reported' }
}

/** The provider's count, completed with an estimate of what it did not count. */
function countUsage(reported: Usage | null, reply: BillableReply, terms: ChargeTerms): CountedUsage {
  if (reported !== null && reply.complete) return useReported(reported)
  const usage = { ...(reported ?? zeroUsage) }
  if (countPromptTokens(usage) === 0) usage.input = terms.promptEstimate()
  // A count reported during the stream is not final: some providers start with a count of one.
  const uncounted = Math.ceil(reply.characters / charactersPerToken) - countCompletionTokens(usage)
  usage.output += Math.max(0, uncounted)
  return { usage, source: 'estimated' }
}

/** Ratio that token estimates assume. */
const charactersPerToken = 4

/** Maximum count of tokens, more than any model reads or writes: a larger one is not a count of tokens. */
const maxTokens = 50_000_000

function isPlausible(usage: Usage): boolean {
  for (const name of countNames) if (!Number.isSafeInteger(usage[name]) || usage[name] < 0) return false
  return (
    countPromptTokens(usage) <= maxTokens &&
    countCompletionTokens(usage) <= maxTokens &&
    usage.webSearches <= maxTokens
  )
}

/** Maximum quantity of any unit, more than a reply can have. */
const maxQuantity = 1e12

function isPlausibleUnit({ quantity }: BilledUnits): boolean {
  return Number.isSafeInteger(quantity) && quantity >= 0 && quantity <= maxQuantity
}

const { reportedCost: _money, ...zeros } = zeroUsage
const countNames = Object.keys(zeros) as (keyof typeof zeros)[]

/** Computes the cost at list prices; without known prices, takes the cost that the provider reports. */
function computeListPrice(
  usage: Usage,
  units: readonly BilledUnits[],
  { pricing, at, inputImages }: ChargeTerms,
): Cost {
  if (pricing) return computeCost(usage, pricing, at, { images: inputImages, units })
  return { ...zeroCost, total: reportedCostToNanos(usage.reportedCost) ?? 0n }
}

/** Fees are computed in billionths of the price; half a nano-dollar rounds up. */
const feeUnit = 1_000_000_000n

export function computeFee(price: bigint, fee: number): bigint {
  return (price * BigInt(Math.round(Math.max(0, fee) * Number(feeUnit))) + feeUnit / 2n) / feeUnit
}

export function minAmount(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** Maximum cost of a reply, more than any costs. */
const maxReportedUsd = 1e6

/** Converts the cost that a provider reports to nano-dollars; null if it is missing or implausible. */
export function reportedCostToNanos(usd: number | null): bigint | null {
  if (usd === null || !(usd >= 0) || usd > maxReportedUsd) return null
  return nanosFromUsd(usd.toFixed(9)) ?? null
}
