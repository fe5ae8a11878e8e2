import { countCompletionTokens, countPromptTokens, type Usage } from '../../formats/call/usage.ts'
import type { RequestState } from '../request/inference-request.ts'
import type { RateUse } from './rate-use.ts'

/** Tokens of a text for which the request sets no maximum. */
const assumedReplyTokens = 2048

/** What a request probably uses of the rates of its provider. */
export function estimateRateUse({ content, format }: RequestState): RateUse {
  const size = content.measure()
  const unlimited = format.task === 'text' ? assumedReplyTokens : 0
  const output = (size.outputTokens ?? unlimited) * Math.max(1, size.choices)
  const input = content.promptTokens
  return { requests: 1, tokens: input + output, input_tokens: input, output_tokens: output }
}

/** What it has used. */
export function measureRateUse(usage: Usage): RateUse {
  const input = countPromptTokens(usage)
  const output = countCompletionTokens(usage)
  return { requests: 1, tokens: input + output, input_tokens: input, output_tokens: output }
}
