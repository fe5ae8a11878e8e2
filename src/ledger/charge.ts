import { completionTokens, noTokens, promptTokens, type Usage } from '../call/usage.ts'
import type { Pricing } from '../catalog/price.ts'
import type { ChargeFlag, UsageSource } from '../db/schema.ts'
import { auxiliaryCost, type Cost, costOf, noCost } from './cost.ts'
import { nanosFromUsd } from './money.ts'

/** What is known of a reply once it is over, however it ended. */
export interface Reply {
  usage: Usage | null
  /** The provider marked the end: what it told is its last word. */
  complete: boolean
  /** Of the answer. The text of an error is none of it. */
  characters: number
  /** Some finish reason was given. */
  finished: boolean
  /** A finish reason was `error`. */
  failed: boolean
}

/** What its charge depends on beside the reply. */
export interface Terms {
  pricing: Pricing | null
  /** When the request was made. */
  at: number
  isByok: boolean
  /** Share of the list price that the use of a credential of one's own costs. */
  byokFee: number
  /** What was set aside from credits, and how much more where own spending counts. */
  hold: { amount: bigint; byok: bigint }
  promptEstimate: () => number
  inputImages: number
}

export interface Charge {
  usage: Usage
  source: UsageSource
  /** At list prices. */
  list: Cost
  /** Taken from credits: for a credential of one's own, the fee. */
  cost: bigint
  /** At list prices, where the credential is the caller's own. */
  byok: bigint
  /** The price of the provider as it is recorded: what BYOK usage counts, or else the list price. */
  upstream: bigint
  flag: ChargeFlag | null
}

export const nothingCharged: Charge = {
  usage: noTokens,
  source: 'none',
  list: noCost,
  cost: 0n,
  byok: 0n,
  upstream: 0n,
  flag: null,
}

/** The settlement table of docs/billing.md. */
export function chargeOf(reply: Reply, terms: Terms): Charge {
  const told = reply.usage !== null && isPlausible(reply.usage) ? reply.usage : null
  const isFree = costsNoTokens(reply, told)
  const counted = isFree ? asTold(told) : countedOf(told, reply, terms)
  const list = isFree
    ? auxiliaryCost(counted.usage, terms.pricing, terms.at)
    : listPrice(counted.usage, terms)
  const price = terms.isByok ? feeOf(list.total, terms.byokFee) : list.total
  const ofOwn = terms.isByok ? list.total : 0n
  const cost = least(price, terms.hold.amount)
  const byok = least(ofOwn, terms.hold.amount + terms.hold.byok - cost)
  const isCapped = cost < price || byok < ofOwn
  const upstream = terms.isByok ? byok : list.total
  return { ...counted, list, cost, byok, upstream, flag: flagOf(reply, told, counted, isCapped) }
}

function flagOf(
  { usage, complete }: Reply,
  told: Usage | null,
  { source }: Counted,
  isCapped: boolean,
): ChargeFlag | null {
  if (told !== usage) return 'implausible'
  if (isCapped) return 'capped'
  return complete && source === 'estimated' ? 'uncounted' : null
}

/** It ended with an error, or nothing came of it: neither output nor a word about how it ended. */
function costsNoTokens({ failed, finished, complete, characters }: Reply, told: Usage | null): boolean {
  if (failed || finished) return failed
  return told !== null && complete ? completionTokens(told) === 0 : characters === 0
}

type Counted = Pick<Charge, 'usage' | 'source'>

function asTold(told: Usage | null): Counted {
  return told === null ? { usage: noTokens, source: 'none' } : { usage: told, source: 'reported' }
}

/** The provider's count, and ours for what it did not come to count. */
function countedOf(told: Usage | null, reply: Reply, terms: Terms): Counted {
  if (told !== null && reply.complete) return asTold(told)
  const usage = { ...(told ?? noTokens) }
  if (promptTokens(usage) === 0) usage.input = terms.promptEstimate()
  // What is told along the way is not the end of it: some vendors begin with a count of one.
  const unseen = Math.ceil(reply.characters / charactersPerToken) - completionTokens(usage)
  usage.output += Math.max(0, unseen)
  return { usage, source: 'estimated' }
}

/** Where nobody counted. */
const charactersPerToken = 4

/** More than any model takes or gives: whoever counts so far does not count tokens. */
const mostTokens = 50_000_000

function isPlausible(usage: Usage): boolean {
  for (const name of counts) if (!Number.isSafeInteger(usage[name]) || usage[name] < 0) return false
  const [prompt, completion] = [promptTokens(usage), completionTokens(usage)]
  return prompt <= mostTokens && completion <= mostTokens && usage.webSearches <= mostTokens
}

const { reportedCost: _money, ...zeros } = noTokens
const counts = Object.keys(zeros) as (keyof typeof zeros)[]

/** Where no price is known, what the provider says it charged. */
function listPrice(usage: Usage, { pricing, at, inputImages }: Terms): Cost {
  if (pricing) return costOf(usage, pricing, at, inputImages)
  return { ...noCost, total: reportedNanos(usage.reportedCost) ?? 0n }
}

/** The fee is counted in billionths of the price; half a nano-dollar rounds up. */
const feeUnit = 1_000_000_000n

export function feeOf(price: bigint, fee: number): bigint {
  return (price * BigInt(Math.round(Math.max(0, fee) * Number(feeUnit))) + feeUnit / 2n) / feeUnit
}

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** No reply costs as much. */
const mostUsd = 1e6

/** What a vendor says it charged, as near as nano-dollars come to it. */
export function reportedNanos(usd: number | null): bigint | null {
  if (usd === null || !(usd >= 0) || usd > mostUsd) return null
  return nanosFromUsd(usd.toFixed(9)) ?? null
}
