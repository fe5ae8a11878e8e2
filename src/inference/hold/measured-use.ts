import type { RequestSize } from '../../formats/call/size.ts'
import { countCompletionTokens, countPromptTokens, type Usage } from '../../formats/call/usage.ts'
import type { LimitMeasure } from '../../governance/limits/limit-rule.ts'
import type { Amounts } from '../../ledger/amounts.ts'

/** What a request uses of each measure. Dollars are nano-dollars. */
export type MeasuredUse = Readonly<Record<LimitMeasure, number>>

/** Tokens of a reply for which the request sets no maximum. */
const assumedReplyTokens = 2048

/** What is reserved for a request. */
export function estimateUse(
  input: number,
  size: Pick<RequestSize, 'outputTokens' | 'choices'>,
  { amount, byok }: Amounts,
): MeasuredUse {
  const output = (size.outputTokens ?? assumedReplyTokens) * Math.max(1, size.choices)
  return {
    usd: Number(amount + byok),
    requests: 1,
    tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    concurrent_requests: 1,
  }
}

/** What a request used. */
export function measureUse(usage: Usage, nanos: bigint): MeasuredUse {
  const input = countPromptTokens(usage)
  const output = countCompletionTokens(usage)
  return {
    usd: Number(nanos),
    requests: 1,
    tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    concurrent_requests: 1,
  }
}

/** The use of a token count or a cache hit. */
export const freeUse: MeasuredUse = {
  usd: 0,
  requests: 1,
  tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  concurrent_requests: 0,
}
