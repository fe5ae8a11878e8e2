import { z } from 'zod'
import { type GatewayError, toErrorEnvelope } from '../../platform/errors/gateway-error.ts'
import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { ChoiceEnd } from '../call/event.ts'
import type { Citation, TokenLogprob } from '../call/part.ts'
import { countCompletionTokens, countPromptTokens, type Usage, type UsageCost } from '../call/usage.ts'
import { encodeCost } from '../chat/usage.ts'

const finishReasons = {
  stop: 'COMPLETE',
  length: 'MAX_TOKENS',
  tool_calls: 'TOOL_CALL',
  content_filter: 'ERROR',
  error: 'ERROR',
} as const satisfies Record<ChoiceEnd['reason'], string>

export function encodeFinishReason(end: ChoiceEnd | null): string {
  if (end?.reason === 'stop' && end.stopSequence !== undefined) return 'STOP_SEQUENCE'
  return finishReasons[end?.reason ?? 'stop']
}

/** Everything that is counted is billed. */
export function encodeUsage(usage: Usage, cost: UsageCost): JsonObject {
  const counts = { input_tokens: countPromptTokens(usage), output_tokens: countCompletionTokens(usage) }
  const cached = usage.cacheRead + usage.cacheReadAudio
  return { billed_units: counts, tokens: counts, cached_tokens: cached, ...encodeCost(cost) }
}

/** `text` is the part that carries the citation, number `index` of the content. */
export function encodeCitation(citation: Citation, index: number, text: string): JsonObject {
  const { url, title, citedText, file, start, end } = citation
  const id = url ?? file?.id ?? title ?? ''
  const document = omitUndefined({ id, url, title: title ?? file?.name, snippet: citedText })
  return omitUndefined({
    start,
    end,
    text: start === undefined || end === undefined ? undefined : text.slice(start, end),
    sources: [{ type: 'document', id, document }],
    content_index: index,
    type: 'TEXT_CONTENT',
  })
}

/** A text with the probability of each of its tokens. Ids of tokens are known to few vendors. */
export function encodeLogprobs(tokens: readonly TokenLogprob[]): JsonObject {
  const text = tokens.map(({ token }) => token).join('')
  return { text, token_ids: [], logprobs: tokens.map(({ logprob }) => logprob) }
}

export const errorSchema = z
  .looseObject({
    message: z.string().describe('The error message'),
    id: z.string().describe('The id of the request'),
    code: z.int().describe('The HTTP status'),
    type: z.string().optional(),
    metadata: z.looseObject({ error_type: z.string(), reason: z.string() }).nullish(),
    user_id: z.string().nullish(),
  })
  .meta({ id: 'CohereError' })

/** Clients read `message` and `id`; the other fields of the envelope are next to them. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { error: inner, ...rest } = toErrorEnvelope(error, requestId)
  return { ...inner, id: requestId, ...rest }
}
