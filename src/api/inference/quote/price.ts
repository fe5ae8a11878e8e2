import { estimatePromptTokens, type RequestSize } from '../../../formats/call/size.ts'
import { zeroUsage } from '../../../formats/call/usage.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { worstCaseAt } from '../../../inference/hold/admit.ts'
import type { RequestState } from '../../../inference/request/inference-request.ts'
import type { Candidate } from '../../../inference/routing/candidate.ts'
import { pricingOf } from '../../../inference/routing/endpoint-price.ts'
import { computeFee } from '../../../ledger/charge.ts'
import { computeCost } from '../../../ledger/cost.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'

/** The assumed length of a reply, unless the request allows fewer tokens. */
export const defaultCompletionTokens = 500

export interface Price {
  /** The most that is charged to credits; null if the price is unknown. */
  worst_case: number | null
  expected: number | null
}

/** The price of a request at an endpoint, in USD. */
export function estimatePrice(
  gateway: Gateway,
  request: RequestState,
  size: RequestSize,
  candidate: Candidate,
): Price {
  const expected = computeExpectedCost(gateway, request, size, candidate)
  const isKnown = pricingOf(gateway, candidate.endpoint) !== null
  const { amount } = worstCaseAt(gateway, size, candidate, request.at)
  return {
    worst_case: isKnown ? usdFromNanos(amount) : null,
    expected: expected === null ? null : usdFromNanos(expected),
  }
}

/** Assumes no cache hit, no reasoning and `estimateCompletionTokens` tokens of output. */
function computeExpectedCost(
  gateway: Gateway,
  { content, at }: RequestState,
  size: RequestSize,
  { endpoint, byokKey }: Candidate,
): bigint | null {
  if (!endpoint.pricing) return null
  const output = estimateCompletionTokens(size) * Math.max(1, size.choices)
  const usage = { ...zeroUsage, input: estimatePromptTokens(content.call), output }
  const { total } = computeCost(usage, endpoint.pricing, at, size)
  return byokKey ? computeFee(total, gateway.settings.billing.byok_fee) : total
}

/** Tasks other than text may have no output in tokens. */
export function estimateCompletionTokens({ outputTokens }: RequestSize): number {
  return Math.min(outputTokens ?? defaultCompletionTokens, defaultCompletionTokens)
}

/** The fees and the expected price at the first endpoint, or the average weighted by share if the endpoint is drawn. */
export function computeExpectedPrice(
  candidates: readonly Candidate[],
  prices: readonly Price[],
  fees: number,
): number | null {
  const [first] = candidates
  const [price] = prices
  if (!first || !price) return null
  if (first.share === null) return price.expected === null ? null : roundUsd(price.expected + fees)
  let sum = fees
  for (const [index, { model, share }] of candidates.entries()) {
    if (model !== first.model || !share) continue
    const expected = prices[index]?.expected ?? null
    if (expected === null) return null
    sum += share * expected
  }
  return roundUsd(sum)
}

/** Rounds to nano-dollars. */
function roundUsd(amount: number): number {
  return Math.round(amount * 1e9) / 1e9
}
