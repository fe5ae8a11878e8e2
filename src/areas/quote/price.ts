import type { Gateway } from '../../app/gateway.ts'
import { estimatePromptTokens, type RequestSize } from '../../call/size.ts'
import { zeroUsage } from '../../call/usage.ts'
import { computeFee } from '../../ledger/charge.ts'
import { computeCost } from '../../ledger/cost.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import type { InferenceRequest } from '../../pipeline/request/inference-request.ts'
import { worstCaseAt } from '../../pipeline/settlement/admit.ts'
import type { Candidate } from '../../routing/candidate.ts'

/** What an answer is taken to have, where the request does not allow fewer. */
export const defaultCompletionTokens = 500

export interface Price {
  /** The most that is taken from credits; null where nobody knows the price. */
  worst_case: number | null
  expected: number | null
}

/** What a request costs at an endpoint, in USD. */
export function estimatePrice(
  gateway: Gateway,
  request: InferenceRequest,
  size: RequestSize,
  candidate: Candidate,
): Price {
  const expected = computeExpectedCost(gateway, request, size, candidate)
  const isKnown = candidate.endpoint.pricing !== null || gateway.settings.billing.unknown_price !== undefined
  const { amount } = worstCaseAt(gateway, size, candidate, request.at)
  return {
    worst_case: isKnown ? usdFromNanos(amount) : null,
    expected: expected === null ? null : usdFromNanos(expected),
  }
}

/** Nothing from a cache, no thinking, and as many tokens as `completionAt` takes for usual. */
function computeExpectedCost(
  gateway: Gateway,
  { content, at }: InferenceRequest,
  size: RequestSize,
  { endpoint, byokKey }: Candidate,
): bigint | null {
  if (!endpoint.pricing) return null
  const output = estimateCompletionTokens(content.call.maxTokens) * Math.max(1, size.choices)
  const usage = { ...zeroUsage, input: estimatePromptTokens(content.call), output }
  const { total } = computeCost(usage, endpoint.pricing, at, size.images)
  return byokKey ? computeFee(total, gateway.settings.billing.byok_fee) : total
}

export function estimateCompletionTokens(maxTokens: number | undefined): number {
  return Math.min(maxTokens ?? defaultCompletionTokens, defaultCompletionTokens)
}

/** What a request is expected to cost: at the endpoint that is asked first, or on average where it is drawn. */
export function computeExpectedPrice(
  candidates: readonly Candidate[],
  prices: readonly Price[],
): number | null {
  const [first] = candidates
  if (!first) return null
  if (first.share === null) return prices[0]?.expected ?? null
  let sum = 0
  for (const [index, { model, share }] of candidates.entries()) {
    if (model !== first.model || !share) continue
    const expected = prices[index]?.expected ?? null
    if (expected === null) return null
    sum += share * expected
  }
  return Math.round(sum * 1e9) / 1e9
}
