import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { SseFrame } from '../../platform/http/sse.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import { errorObjectOf } from '../error-object.ts'
import { decodeServedTier } from '../tier.ts'
import {
  newReplySummary,
  type Relay,
  type ReplyContext,
  type ReplySummary,
  type ToolCallSummary,
} from '../wire-format.ts'
import { decodeFailure, malformedReplyFailure } from './error.ts'
import { decodeFinishReason, resolveStatus } from './finish-reason.ts'
import { frameTypeOf, parseFrame } from './frame.ts'
import { hideReasoningInFrame } from './hide-reasoning.ts'
import { isWebSearch } from './item-reader.ts'
import { passReply, spliceResponse } from './passthrough.ts'
import { isClientCall } from './reply-state.ts'
import { writeFailureEvents } from './reply-writer.ts'
import { encodeResponse, type ResponseState } from './response-object.ts'
import { decodeUsage } from './usage.ts'

export function createRelay(context: ReplyContext): Relay {
  return new ResponsesRelay(context)
}

/** The first and last frames carry the response and are parsed; all others pass unmodified. */
class ResponsesRelay implements Relay {
  finalBody: JsonObject | null = null
  readonly summary: ReplySummary = newReplySummary()
  readonly #context: ReplyContext
  readonly #hidesReasoning: boolean
  #startedResponse: JsonObject | null = null
  #finalEvent: { type: string; event: JsonObject; response: JsonObject } | null = null
  /** Frames of finished items, for vendors that omit the output in the last event. */
  #finishedFrames: SseFrame[] = []
  #sequence = 0
  #sequenceBeforeEnd: number | null = null

  constructor(context: ReplyContext) {
    this.#context = context
    this.#hidesReasoning = context.call.reasoning?.exclude === true
  }

  pass(frame: SseFrame): string {
    if (this.summary.isComplete || this.summary.failure || frame.data === '[DONE]') return ''
    const type = frameTypeOf(frame)
    if (frame.truncated && !parseFrame(frame)) return this.#failMalformed()
    if (type === null || !type.startsWith('response.') || readTypes.has(type)) return this.#readFrame(frame)
    this.summary.hasContent = true
    this.#recordFrame(type, frame.data)
    const shown = this.#hidesReasoning ? hideReasoningInFrame(frame, type) : frame
    if (!shown) return ''
    if (!toolCallEndTypes.has(type)) return this.#writeFrame(type, shown.data)
    const data = fillEmptyArguments(shown.data)
    if (type === 'response.output_item.done') this.#finishedFrames.push({ ...shown, data })
    return this.#writeFrame(type, data)
  }

  #recordFrame(type: string, data: string): void {
    const isDelta = type.endsWith('.delta')
    const length = isDelta ? countDeltaCharacters(data) : 0
    this.summary.characters += length
    if (!isDelta || length > 0) this.summary.contentEvents++
    if (type === 'response.output_item.added') this.summary.partCount++
    else if (this.#finishedFrames.length > this.summary.partCount)
      this.summary.partCount = this.#finishedFrames.length
  }

  end(usage: Usage, cost: UsageCost): string {
    if (!this.#finalEvent) return ''
    const { type, event, response } = this.#finalEvent
    this.#sequenceBeforeEnd = this.#sequence
    this.finalBody = passReply(this.#withOutput(response), this.#context, cost, usage)
    return this.#writeFrame(type, JSON.stringify({ ...event, type, response: this.finalBody }))
  }

  fail(error: GatewayError): string {
    // The output of `end` was not sent.
    this.finalBody = null
    this.#sequence = this.#sequenceBeforeEnd ?? this.#sequence
    return writeFailureEvents(error, this.#emit, ({ error: responseError, errorType }) => ({
      ...(this.#startedResponse ?? this.#buildEmptyResponse()),
      status: 'failed',
      output: this.#parseFinishedItems(),
      error: responseError,
      error_type: errorType,
    }))
  }

  #readFrame(frame: SseFrame): string {
    const parsed = parseFrame(frame)
    if (!parsed) return this.#failMalformed()
    const { type, event } = parsed
    const response = asObject(event.response)
    if (response && startTypes.has(type)) return this.#startResponse(type, event, response)
    if (response && endTypes.has(type)) return this.#endResponse(type, event, response)
    const error = errorObjectOf(event)
    if (type === 'error' || error) {
      this.summary.failure = decodeFailure(error ?? event, 'The provider failed.')
      return ''
    }
    return this.#writeFrame(type, frame.data)
  }

  #failMalformed(): string {
    this.summary.failure = malformedReplyFailure('The provider sent an event that is not a JSON object.')
    return ''
  }

  #startResponse(type: string, event: JsonObject, response: JsonObject): string {
    this.summary.model ??= asString(response.model) ?? null
    this.#startedResponse = spliceResponse(response, this.#context)
    return this.#writeFrame(type, JSON.stringify({ ...event, type, response: this.#startedResponse }))
  }

  /** Held until `end`, because it carries the cost. */
  #endResponse(type: string, event: JsonObject, response: JsonObject): string {
    const status = resolveStatus(response, type)
    this.summary.model ??= asString(response.model) ?? null
    this.summary.tier = decodeServedTier(response.service_tier) ?? null
    const output = asObjects(this.#withOutput(response).output)
    const searches = output.filter((item) => item.type === 'web_search_call' && isWebSearch(item)).length
    this.summary.usage = decodeUsage(response.usage, searches)
    const error = errorObjectOf(response)
    if (error || status === 'failed' || status === 'cancelled') {
      this.summary.failure = decodeFailure(error, `The provider returned a response with status ${status}.`)
      return ''
    }
    const { reason, native } = decodeFinishReason(response, status)
    const tools = asObjects(response.tools ?? this.#startedResponse?.tools)
    this.summary.toolCalls = output.flatMap((item, part) =>
      isClientCall(item, tools) ? [summarizeToolCall(item, part)] : [],
    )
    const hasToolCalls = this.summary.toolCalls.length > 0
    this.summary.finishReasons = [
      { reason: reason === 'stop' && hasToolCalls ? 'tool_calls' : reason, native },
    ]
    if (output.length > 0) this.summary.hasContent = true
    this.summary.isComplete = true
    this.#finalEvent = { type: `response.${status}`, event, response }
    return ''
  }

  #withOutput(response: JsonObject): JsonObject {
    if (asObjects(response.output).length > 0 || this.#finishedFrames.length === 0) return response
    return { ...response, output: this.#parseFinishedItems() }
  }

  #parseFinishedItems(): JsonObject[] {
    return this.#finishedFrames
      .map((frame) => asObject(parseFrame(frame)?.event.item))
      .filter((item) => item !== undefined)
  }

  #buildEmptyResponse(): JsonObject {
    const state: ResponseState = { status: 'failed', output: [], usage: null, start: { type: 'reply-start' } }
    return encodeResponse(this.#context, state)
  }

  #emit = (type: string, fields: JsonObject): string =>
    this.#writeFrame(type, JSON.stringify({ type, sequence_number: this.#sequence, ...fields }))

  /** Adds sequence numbers for vendors that omit them, because clients depend on them. */
  #writeFrame(type: string, data: string): string {
    const vendorNumber = parseSequenceNumber(data)
    const number = this.#sequence
    this.#sequence = Math.max(number, vendorNumber ?? 0) + 1
    const numbered =
      vendorNumber === null && data.endsWith('}') ? `${data.slice(0, -1)},"sequence_number":${number}}` : data
    const lines = numbered.includes('\n') ? numbered.replaceAll('\n', '\ndata: ') : numbered
    return `event: ${type}\ndata: ${lines}\n\n`
  }
}

function summarizeToolCall(item: JsonObject, part: number): ToolCallSummary {
  const custom = item.type === 'custom_tool_call'
  const argumentsText = asString(custom ? item.input : item.arguments) ?? ''
  return { choice: 0, part, name: asString(item.name) ?? '', arguments: argumentsText, custom }
}

const toolCallEndTypes = new Set(['response.output_item.done', 'response.function_call_arguments.done'])
const emptyArgumentsPattern = /"arguments":\s*(?:""|null)/

/** A function call without arguments gets an empty object. Only the key matches: quotes in strings are escaped. */
function fillEmptyArguments(data: string): string {
  return data.includes('function_call') ? data.replace(emptyArgumentsPattern, '"arguments":"{}"') : data
}

const startTypes = new Set(['response.created', 'response.in_progress', 'response.queued'])
const endTypes = new Set([
  'response.completed',
  'response.done',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])
const readTypes = new Set([...startTypes, ...endTypes, 'error'])

const sequenceKey = '"sequence_number":'

/** Found without parsing: the key cannot match inside a string, whose quotes are escaped. */
function parseSequenceNumber(data: string): number | null {
  const at = data.indexOf(sequenceKey)
  if (at < 0) return null
  const number = Number.parseInt(data.slice(at + sequenceKey.length, at + sequenceKey.length + 16), 10)
  return Number.isSafeInteger(number) && number >= 0 ? number : null
}

const deltaPattern = /"delta": ?"/

/** The approximate length of a delta: an escape counts as one character. */
function countDeltaCharacters(data: string): number {
  const key = deltaPattern.exec(data)
  if (!key) return 0
  let end = key.index + key[0].length
  let length = 0
  while (end < data.length && data.charCodeAt(end) !== 0x22) {
    end += data.charCodeAt(end) === 0x5c ? 2 : 1
    length++
  }
  return length
}
