import { tryParseJson } from '../../platform/json/json.ts'
import {
  asNumber,
  asObject,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import { maxUsd } from '../../platform/money/money.ts'
import type { RecordedExchange } from './exchange.ts'

/** Whether a value is a record of LiteLLM: of its callbacks, or a row of its spend logs. */
export function isLiteLlmRecord(value: JsonObject): boolean {
  return typeof value.call_type === 'string' && value.startTime !== undefined
}

/** The parameters of a request that LiteLLM records; what it adds for itself is left out. */
const parameters = [
  ...['temperature', 'top_p', 'n', 'stop', 'seed', 'max_tokens', 'max_completion_tokens', 'user', 'stream'],
  ...['presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'verbosity'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'reasoning_effort', 'modalities'],
]

const maxNameLength = 256

/** Reads a record; null if it is not of a chat completion, or has no prompt. */
export function readLiteLlmRecord(record: JsonObject): RecordedExchange | null {
  const request = readRequest(record)
  if (!request || !/^a?completion$/.test(asString(record.call_type) ?? '')) return null
  const reply = toObject(record.response)
  const hasFailed = record.status === 'failure' || !reply?.choices
  const [start, first, end] = [record.startTime, record.completionStartTime, record.endTime].map(toMs)
  return {
    id: (asString(record.id) ?? asString(record.request_id))?.slice(0, maxNameLength) ?? null,
    format: 'chat',
    request,
    reply: hasFailed ? null : reply,
    error: hasFailed ? readError(record) : null,
    model: asString(record.model)?.slice(0, maxNameLength) ?? null,
    provider: asString(record.custom_llm_provider)?.slice(0, maxNameLength) ?? null,
    costUsd: toCost(asNumber(record.response_cost) ?? asNumber(record.spend)),
    latencyMs: between(start, end),
    firstTokenMs: request.stream === true ? between(start, first) : null,
  }
}

function toCost(usd: number | undefined): number | null {
  return usd === undefined || usd < 0 || usd > maxUsd ? null : usd
}

function readRequest(record: JsonObject): JsonObject | null {
  const sent = toObject(record.proxy_server_request)
  const body = toObject(sent?.body) ?? sent
  if (Array.isArray(body?.messages)) return pick(body, ['model', 'messages', ...parameters])
  const listed = typeof record.messages === 'string' ? tryParseJson(record.messages) : record.messages
  const model = asString(record.model_group) || asString(record.model)
  if (!Array.isArray(listed) || listed.length === 0 || !model) return null
  const stream = record.stream === true ? true : undefined
  return omitUndefined({
    ...pick(toObject(record.model_parameters) ?? {}, parameters),
    stream,
    model,
    messages: listed,
  })
}

function pick(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (body[name] == null ? [] : [[name, body[name]]])))
}

function toObject(value: unknown): JsonObject | null {
  return asObject(typeof value === 'string' ? tryParseJson(value) : value) ?? null
}

function readError(record: JsonObject): string {
  const { error_code, error_class } = asObject(record.error_information) ?? {}
  const code = asString(error_code) || asString(error_class) || 'error'
  return code.replace(/[^\w.-]/g, '_').slice(0, 64)
}

/** Times are seconds in callbacks, and ISO text in spend logs. */
function toMs(value: unknown): number | null {
  if (typeof value === 'number') return value * 1000
  const time =
    typeof value === 'string'
      ? Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(value) ? value : `${value}Z`)
      : Number.NaN
  return Number.isNaN(time) ? null : time
}

function between(start: number | null | undefined, end: number | null | undefined): number | null {
  if (start == null || end == null || end < start) return null
  return Math.min(Math.round(end - start), 86_400_000)
}
