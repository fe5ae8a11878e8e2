import type { Bill, Usage } from '../../call/usage.ts'
import type { GatewayError } from '../../errors.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import { nothingSeen, type Relay, type ReplyFacts, type Seen, type SeenCall } from '../dialect.ts'
import { servedTier } from '../tier.ts'
import { brokenReply, failureOf } from './error.ts'
import { parseFrame, typeOfFrame } from './frame.ts'
import { withoutThinking } from './hidden.ts'
import { passReply, spliceResponse } from './pass.ts'
import { isSearch } from './reply-items.ts'
import { finishOf, statusOf } from './reply-read.ts'
import { isClientCall } from './reply-state.ts'
import { failureEvents } from './reply-write.ts'
import { type ResponseState, responseObject } from './response-object.ts'
import { decodeUsage } from './usage.ts'

export function relay(about: ReplyFacts): Relay {
  return new ResponsesRelay(about)
}

/** Frames of the beginning and the end carry the response, and are read; all others pass as they are. */
class ResponsesRelay implements Relay {
  final: JsonObject | null = null
  readonly seen: Seen = nothingSeen()
  readonly #about: ReplyFacts
  readonly #hides: boolean
  #begun: JsonObject | null = null
  #last: { type: string; event: JsonObject; response: JsonObject } | null = null
  /** Frames of finished items, for vendors whose last event leaves the output out. */
  #items: SseFrame[] = []
  #sequence = 0
  #unsent: number | null = null

  constructor(about: ReplyFacts) {
    this.#about = about
    this.#hides = about.call.reasoning?.exclude === true
  }

  pass(frame: SseFrame): string {
    if (this.seen.complete || this.seen.failure || frame.data === '[DONE]') return ''
    const type = typeOfFrame(frame)
    if (frame.unended && !parseFrame(frame)) return this.#broken()
    if (type === null || !type.startsWith('response.') || around.has(type)) return this.#read(frame)
    this.seen.content = true
    this.#count(type, frame.data)
    const shown = this.#hides ? withoutThinking(frame, type) : frame
    if (!shown) return ''
    if (!endsCall.has(type)) return this.#out(type, shown.data)
    const data = withArguments(shown.data)
    if (type === 'response.output_item.done') this.#items.push({ ...shown, data })
    return this.#out(type, data)
  }

  #count(type: string, data: string): void {
    const isDelta = type.endsWith('.delta')
    const length = isDelta ? deltaLength(data) : 0
    this.seen.characters += length
    if (!isDelta || length > 0) this.seen.progress++
    if (type === 'response.output_item.added') this.seen.parts++
    else if (this.#items.length > this.seen.parts) this.seen.parts = this.#items.length
  }

  end(usage: Usage, bill: Bill): string {
    if (!this.#last) return ''
    const { type, event, response } = this.#last
    this.#unsent = this.#sequence
    this.final = passReply(this.#withOutput(response), this.#about, bill, usage)
    return this.#out(type, JSON.stringify({ ...event, type, response: this.final }))
  }

  fail(error: GatewayError): string {
    // What `end` wrote was never sent.
    this.final = null
    this.#sequence = this.#unsent ?? this.#sequence
    return failureEvents(error, this.#emit, ({ error: told, errorType }) => ({
      ...(this.#begun ?? this.#blank()),
      status: 'failed',
      output: this.#finishedItems(),
      error: told,
      error_type: errorType,
    }))
  }

  #read(frame: SseFrame): string {
    const found = parseFrame(frame)
    if (!found) return this.#broken()
    const { type, event } = found
    const response = objectOf(event.response)
    if (response && opening.has(type)) return this.#begin(type, event, response)
    if (response && closing.has(type)) return this.#close(type, event, response)
    const error = objectOf(event.error)
    if (type === 'error' || error) {
      this.seen.failure = failureOf(error ?? event, 'the upstream failed')
      return ''
    }
    return this.#out(type, frame.data)
  }

  #broken(): string {
    this.seen.failure = brokenReply('an event of the stream is not a JSON object')
    return ''
  }

  #begin(type: string, event: JsonObject, response: JsonObject): string {
    this.seen.model ??= textOf(response.model) ?? null
    this.#begun = spliceResponse(response, this.#about)
    return this.#out(type, JSON.stringify({ ...event, type, response: this.#begun }))
  }

  /** Kept back: the bill goes into it. */
  #close(type: string, event: JsonObject, response: JsonObject): string {
    const status = statusOf(response, type)
    this.seen.model ??= textOf(response.model) ?? null
    this.seen.tier = servedTier(response.service_tier) ?? null
    const output = objectsOf(this.#withOutput(response).output)
    const searches = output.filter((item) => item.type === 'web_search_call' && isSearch(item)).length
    this.seen.usage = decodeUsage(response.usage, searches)
    if (objectOf(response.error) || status === 'failed' || status === 'cancelled') {
      this.seen.failure = failureOf(objectOf(response.error), `the response is ${status}`)
      return ''
    }
    const { reason, native } = finishOf(response, status)
    const tools = objectsOf(response.tools ?? this.#begun?.tools)
    this.seen.calls = output.flatMap((item, part) =>
      isClientCall(item, tools) ? [seenCall(item, part)] : [],
    )
    const calls = this.seen.calls.length > 0
    this.seen.finishes = [{ reason: reason === 'stop' && calls ? 'tool_calls' : reason, native }]
    if (output.length > 0) this.seen.content = true
    this.seen.complete = true
    this.#last = { type: `response.${status}`, event, response }
    return ''
  }

  #withOutput(response: JsonObject): JsonObject {
    if (objectsOf(response.output).length > 0 || this.#items.length === 0) return response
    return { ...response, output: this.#finishedItems() }
  }

  #finishedItems(): JsonObject[] {
    return this.#items
      .map((frame) => objectOf(parseFrame(frame)?.event.item))
      .filter((item) => item !== undefined)
  }

  #blank(): JsonObject {
    const state: ResponseState = { status: 'failed', output: [], usage: null, start: { type: 'reply-start' } }
    return responseObject(this.#about, state)
  }

  #emit = (type: string, fields: JsonObject): string =>
    this.#out(type, JSON.stringify({ type, sequence_number: this.#sequence, ...fields }))

  /** Vendors that do not number their events have them numbered: clients count on it. */
  #out(type: string, data: string): string {
    const told = numberIn(data)
    const number = this.#sequence
    this.#sequence = Math.max(number, told ?? 0) + 1
    const numbered =
      told === null && data.endsWith('}') ? `${data.slice(0, -1)},"sequence_number":${number}}` : data
    const lines = numbered.includes('\n') ? numbered.replaceAll('\n', '\ndata: ') : numbered
    return `event: ${type}\ndata: ${lines}\n\n`
  }
}

function seenCall(item: JsonObject, part: number): SeenCall {
  const custom = item.type === 'custom_tool_call'
  const given = textOf(custom ? item.input : item.arguments) ?? ''
  return { choice: 0, part, name: textOf(item.name) ?? '', arguments: given, custom }
}

const endsCall = new Set(['response.output_item.done', 'response.function_call_arguments.done'])
const noArguments = /"arguments":\s*(?:""|null)/

/** A function call without arguments has an empty object. Quotes within strings are escaped, so this is the key. */
function withArguments(data: string): string {
  return data.includes('function_call') ? data.replace(noArguments, '"arguments":"{}"') : data
}

const opening = new Set(['response.created', 'response.in_progress', 'response.queued'])
const closing = new Set([
  'response.completed',
  'response.done',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])
const around = new Set([...opening, ...closing, 'error'])

const numberKey = '"sequence_number":'

/** Read from the text: a key with its colon cannot stand inside a string, whose quotes are escaped. */
function numberIn(data: string): number | null {
  const at = data.indexOf(numberKey)
  if (at < 0) return null
  const number = Number.parseInt(data.slice(at + numberKey.length, at + numberKey.length + 16), 10)
  return Number.isSafeInteger(number) && number >= 0 ? number : null
}

const deltaKey = /"delta": ?"/

/** How long the text of a delta is, give or take its escapes. */
function deltaLength(data: string): number {
  const key = deltaKey.exec(data)
  if (!key) return 0
  let end = key.index + key[0].length
  let length = 0
  while (end < data.length && data.charCodeAt(end) !== 0x22) {
    end += data.charCodeAt(end) === 0x5c ? 2 : 1
    length++
  }
  return length
}
