import { promptEstimate, type Size } from '../../call/size.ts'
import { noTokens } from '../../call/usage.ts'
import type { Gateway } from '../../gateway.ts'
import { feeOf } from '../../ledger/charge.ts'
import { costOf } from '../../ledger/cost.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import { mostAt } from '../../pipeline/admit.ts'
import type { Asked } from '../../pipeline/asked.ts'
import type { Candidate } from '../../routing/candidate.ts'

/** What an answer is taken to have, where the request does not allow fewer. */
export const usualCompletion = 500

export interface Price {
  /** The most that is taken from credits; null where nobody knows the price. */
  worst_case: number | null
  expected: number | null
}

/** What a request costs at an endpoint, in USD. */
export function priceAt(gateway: Gateway, asked: Asked, size: Size, candidate: Candidate): Price {
  const expected = expectedAt(gateway, asked, size, candidate)
  const isKnown = candidate.endpoint.pricing !== null || gateway.settings.billing.unknown_price !== undefined
  const { amount } = mostAt(gateway, size, candidate, asked.at)
  return {
    worst_case: isKnown ? usdFromNanos(amount) : null,
    expected: expected === null ? null : usdFromNanos(expected),
  }
}

/** Nothing from a cache, no thinking, and as many tokens as `completionAt` takes for usual. */
function expectedAt(
  gateway: Gateway,
  { call, at }: Asked,
  size: Size,
  { endpoint, ownKey }: Candidate,
): bigint | null {
  if (!endpoint.pricing) return null
  const output = completionAt(call.maxTokens) * Math.max(1, size.choices)
  const usage = { ...noTokens, input: promptEstimate(call), output }
  const { total } = costOf(usage, endpoint.pricing, at, size.images)
  return ownKey ? feeOf(total, gateway.settings.billing.byok_fee) : total
}

export function completionAt(maxTokens: number | undefined): number {
  return Math.min(maxTokens ?? usualCompletion, usualCompletion)
}

/** What a request is expected to cost: at the endpoint that is asked first, or on average where it is drawn. */
export function expectedOf(candidates: readonly Candidate[], prices: readonly Price[]): number | null {
  const [first] = candidates
  if (!first) return null
  if (first.share === null) return prices[0]?.expected ?? null
  let sum = 0
  for (const [place, { model, share }] of candidates.entries()) {
    if (model !== first.model || !share) continue
    const expected = prices[place]?.expected ?? null
    if (expected === null) return null
    sum += share * expected
  }
  return Math.round(sum * 1e9) / 1e9
}
