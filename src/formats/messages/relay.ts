import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { SseFrame } from '../../platform/http/sse.ts'
import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import { errorObjectOf } from '../error-object.ts'
import { encodeServiceMetadata, newReplySummary, type Relay, type ReplyContext } from '../wire-format.ts'
import { formatFrame as frameOf } from './block-frames.ts'
import { decodeFailure, encodeErrorEvent, malformedReplyFailure } from './error.ts'
import { parseEvent } from './reply-reader.ts'
import { createEmptyMessage } from './reply-writer.ts'
import { decodeChoiceEnd } from './stop-reason.ts'
import {
  decodeTier,
  decodeUsage,
  emptyUsage,
  encodeServedTier,
  encodeUsageWithCost,
  mergeUsage,
} from './usage.ts'

/** Passes a stream through. Only its first and last events are parsed. */
class MessagesRelay implements Relay {
  readonly summary = newReplySummary()
  readonly finalBody = null
  readonly #context: ReplyContext
  #usage: JsonObject = {}
  #messageDelta: JsonObject = {}
  #messageStop: JsonObject = {}
  #hasToolCalls = false
  #isWholeMessage = false
  #hasStarted = false

  constructor(context: ReplyContext) {
    this.#context = context
  }

  pass(frame: SseFrame): string {
    const { data } = frame
    if (this.summary.isComplete || this.summary.failure || data === '[DONE]') return ''
    const type = eventTypeOf(frame)
    const isTruncated = !data.endsWith('}') || (frame.truncated && !parseEvent(data))
    if (type === undefined || isTruncated) return this.#failMalformed()
    switch (type) {
      case 'content_block_delta':
        if (!isEmptyDelta(data)) {
          this.summary.hasContent = true
          this.summary.contentEvents++
          this.summary.characters += countCharacters(data)
        }
        return formatRawFrame(type, data)
      case 'content_block_start':
        this.summary.hasContent = true
        this.summary.partCount++
        this.summary.contentEvents++
        if (data.includes('"tool_use"')) this.#hasToolCalls = true
        return formatRawFrame(type, data)
      case 'message_start':
      case 'message_delta':
      case 'message_stop':
      case 'error':
        return this.#passParsed(type, data)
      default:
        return formatRawFrame(type, data)
    }
  }

  end(usage: Usage, cost: UsageCost): string {
    const delta = {
      container: null,
      stop_details: null,
      stop_reason: 'end_turn',
      stop_sequence: null,
      ...asObject(this.#messageDelta.delta),
    }
    const messageDelta = {
      ...this.#messageDelta,
      delta,
      usage: encodeUsageWithCost(this.#usage, usage, cost, this.#context),
    }
    return (
      frameOf('message_delta', messageDelta) +
      frameOf('message_stop', { ...this.#messageStop, ...encodeServiceMetadata(this.#context) })
    )
  }

  fail(error: GatewayError): string {
    return encodeErrorEvent(error, this.#context.id)
  }

  #failMalformed(): string {
    this.summary.failure = malformedReplyFailure('The provider sent an event that is not a JSON object.')
    return ''
  }

  #passParsed(type: string, data: string): string {
    const event = parseEvent(data)
    if (!event) return this.#failMalformed()
    if (type === 'message_start') return this.#passMessageStart(event)
    if (type === 'message_delta') this.#recordMessageDelta(event)
    else if (type === 'message_stop') {
      this.#messageStop = event
      this.summary.isComplete = true
      this.summary.finishReasons[0] ??= {
        reason: decodeChoiceEnd({}, this.#hasToolCalls).reason,
        native: null,
      }
    } else this.summary.failure = decodeFailure(errorObjectOf(event) ?? event, null)
    return ''
  }

  #passMessageStart(event: JsonObject): string {
    const message = asObject(event.message) ?? {}
    this.summary.model ??= asString(message.model) ?? null
    this.#recordUsage(message.usage)
    // Clients start a second message when a proxy repeats the event.
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    const { id, model, provider } = this.#context
    const usage = {
      ...emptyUsage,
      service_tier: encodeServedTier(this.#context.tier),
      ...asObject(message.usage),
    }
    this.#recordContent(message)
    const clearedStop = { stop_reason: null, stop_sequence: null, stop_details: null }
    const spliced = {
      ...createEmptyMessage(this.#context),
      ...message,
      ...clearedStop,
      id,
      model,
      provider,
      usage,
    }
    return frameOf('message_start', { ...event, message: spliced })
  }

  /** The first event may carry the whole message. Its stop reason is sent at the end, with the cost. */
  #recordContent({ content, stop_reason, stop_sequence, stop_details }: JsonObject): void {
    const blocks = asObjects(content)
    if (blocks.length > 0) {
      this.summary.hasContent = true
      this.summary.characters += JSON.stringify(blocks).length
      this.#hasToolCalls = blocks.some(({ type }) => type === 'tool_use')
    }
    if (asString(stop_reason) === undefined) return
    this.#isWholeMessage = true
    this.#recordMessageDelta({ delta: omitUndefined({ stop_reason, stop_sequence, stop_details }) })
  }

  /** A first event with the whole message may be the last. */
  close(): string {
    if (this.#isWholeMessage && !this.summary.failure) this.summary.isComplete = true
    return ''
  }

  #recordMessageDelta(event: JsonObject): void {
    // Modified in place: copying growing fields at every event would take quadratic time.
    const delta = Object.assign(asObject(this.#messageDelta.delta) ?? {}, asObject(event.delta))
    Object.assign(this.#messageDelta, event, { delta })
    this.#recordUsage(event.usage)
    const { reason, native } = decodeChoiceEnd(delta, this.#hasToolCalls)
    if (native !== null) this.summary.finishReasons[0] = { reason, native }
  }

  #recordUsage(usage: unknown): void {
    if (!asObject(usage)) return
    this.#usage = mergeUsage(this.#usage, usage)
    this.summary.usage = decodeUsage(this.#usage)
    this.summary.tier = decodeTier(this.#usage) ?? null
  }
}

export function createRelay(context: ReplyContext): Relay {
  return new MessagesRelay(context)
}

const typePrefix = '{"type":"'

/** Avoids parsing when the type is the first field, the usual case. */
function eventTypeOf({ event, data }: SseFrame): string | undefined {
  if (data.startsWith(typePrefix)) return data.slice(typePrefix.length, data.indexOf('"', typePrefix.length))
  const parsed = parseEvent(data)
  return parsed && (asString(parsed.type) ?? (parsed.error ? 'error' : event))
}

/** Keeps the upstream's bytes of `data`. */
function formatRawFrame(type: string, data: string): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data
  return type === '' ? `data: ${lines}\n\n` : `event: ${type}\ndata: ${lines}\n\n`
}

/** JSON around the text of a delta. An estimate, used only when a stream fails without usage. */
const deltaOverhead = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}'
  .length

const emptyFieldPattern = /"(?:text|thinking|partial_json)":\s*""/

/** Quotes inside strings are escaped, so a match is always an empty field. */
function isEmptyDelta(data: string): boolean {
  return data.includes('""') && emptyFieldPattern.test(data)
}

function countCharacters(data: string): number {
  return data.includes('"signature_delta"') ? 0 : Math.max(0, data.length - deltaOverhead)
}

export function passReply(
  body: JsonObject,
  context: ReplyContext,
  cost: UsageCost,
  usage: Usage,
): JsonObject {
  const { id, model, provider } = context
  const reportedUsage = asObject(body.usage) ?? {}
  return {
    ...createEmptyMessage(context),
    ...body,
    id,
    model,
    provider,
    usage: encodeUsageWithCost(reportedUsage, usage, cost, context),
    ...encodeServiceMetadata(context),
  }
}
