import { collectReply, type Reply } from '../../formats/call/event.ts'
import { countCompletionTokens, countPromptTokens } from '../../formats/call/usage.ts'
import { chat } from '../../formats/chat/chat.ts'
import { chatRequest } from '../../formats/chat/schema.ts'
import { messages } from '../../formats/messages/messages.ts'
import { messagesRequest } from '../../formats/messages/schema.ts'
import { responses } from '../../formats/responses/responses.ts'
import { responsesRequest } from '../../formats/responses/schema.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import { noTags } from '../../governance/tags/tag.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { roundToNanos } from '../../platform/money/money.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { formats } from '../request/formats.ts'
import type { SideOutcome } from './compare.ts'
import type { MirroredRequest } from './mirror.ts'

export const exchangeFormats = ['chat', 'messages', 'responses'] as const

/** A request that another gateway has answered, and how. */
export interface RecordedExchange {
  id: string | null
  format: (typeof exchangeFormats)[number]
  request: JsonObject
  /** The body of the reply; null if there was none. */
  reply: JsonObject | null
  /** The code of the error; null if it was answered. */
  error: string | null
  model: string | null
  provider: string | null
  costUsd: number | null
  latencyMs: number | null
  firstTokenMs: number | null
}

const codecs = {
  chat: { schema: chatRequest, format: formats.chat, wireFormat: chat },
  messages: { schema: messagesRequest, format: formats.messages, wireFormat: messages },
  responses: { schema: responsesRequest, format: formats.responses, wireFormat: responses },
} as const

/** Throws a 400 that names the field if the request is not valid. */
export function toMirroredRequest(
  exchange: RecordedExchange,
  { region, httpRequest }: { region: DataRegion; httpRequest: Request },
): MirroredRequest {
  const { schema, format, wireFormat } = codecs[exchange.format]
  // At most as many values as characters.
  const { length } = JSON.stringify(exchange.request)
  const body = validateInput<JsonObject>(schema, exchange.request, 'request', length, 'request.')
  const { tools, format: output } = format.requestCodec.decodeRequest(body)
  const reply = exchange.reply && collectReply(wireFormat.upstream.decodeReply(exchange.reply))
  const text = JSON.stringify(body)
  return {
    ...{ body, source: { text, values: length }, format, region, httpRequest },
    call: { ...(tools && { tools }), ...(output && { format: output }) },
    tags: noTags,
    preferences: {},
    keyContext: null,
    logsContent: null,
    original: describeExchange(exchange, reply),
  }
}

function describeExchange(exchange: RecordedExchange, reply: Reply | null): SideOutcome {
  const { id, error, model, provider, costUsd, latencyMs, firstTokenMs } = exchange
  const failure = error ?? (reply && !reply.failure ? null : 'invalid_reply')
  const usage = reply?.usage ?? null
  const nanos = costUsd === null ? undefined : roundToNanos(costUsd)
  return {
    generation_id: null,
    external_id: id,
    model: model ?? asString(exchange.request.model) ?? '',
    provider: provider ?? '',
    status: failure === null ? 'completed' : 'failed',
    error: failure,
    finish_reason: reply?.choices[0]?.end?.reason ?? null,
    prompt_tokens: usage && countPromptTokens(usage),
    completion_tokens: usage && countCompletionTokens(usage),
    cost_nanos: nanos === undefined ? null : String(nanos),
    latency_ms: latencyMs,
    first_token_ms: firstTokenMs,
    reply: failure === null ? reply : null,
  }
}

/** Whether the request has tools that run outside of the client, or that the gateway or a provider runs. */
export function hasServerTools({ call, body }: MirroredRequest): boolean {
  return (call.tools ?? []).some(({ kind }) => kind === 'native') || asObject(body)?.mcp_servers !== undefined
}
