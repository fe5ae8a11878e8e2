import type { SseFrame } from '../../platform/http/sse.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { ChoiceEnd, PartDelta, ReplyEvent } from '../call/event.ts'
import type { Citation, OutputPart } from '../call/part.ts'
import { decodeFailure, endedInErrorMessage, malformedReplyFailure } from '../chat/error.ts'
import { type ListPaths, limitEventLists } from '../reply-lists.ts'
import type { ReplyReader } from '../wire-format.ts'
import { decodeUsage } from './usage.ts'

export const replyLists: ListPaths = [
  ['message', 'content'],
  ['message', 'tool_calls'],
  ['message', 'citations'],
  ['message', 'citations', 'sources'],
]

const eventLists: ListPaths = [['delta', ...(replyLists[3] ?? [])]]

const finishReasons = new Map<string, ChoiceEnd['reason']>([
  ['COMPLETE', 'stop'],
  ['STOP_SEQUENCE', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['TOOL_CALL', 'tool_calls'],
  ['ERROR_TOXIC', 'content_filter'],
])
const failedReasons: ReadonlySet<string> = new Set(['ERROR', 'TIMEOUT', 'ERROR_LIMIT', 'USER_CANCEL'])

interface OpenPart {
  kind: 'text' | 'reasoning'
  part: number
}

interface OpenCall {
  part: number
  hasArguments: boolean
}

export class CohereReader implements ReplyReader {
  #events: ReplyEvent[] = []
  /** Citations follow the text that they belong to, so a part is open until the next one starts. */
  #current: OpenPart | null = null
  readonly #calls = new Map<unknown, OpenCall>()
  #partCount = 0
  #callCount = 0
  #isStarted = false
  /** The reply ended or failed: later events are ignored. */
  #isOver = false

  read({ data, event: name }: SseFrame): ReplyEvent[] {
    const text = data.trim()
    if (this.#isOver || text === '' || text === '[DONE]') return []
    const event = asObject(tryParseJson(text))
    if (!event)
      return this.#fail(malformedReplyFailure('The provider sent an event that is not a JSON object.'))
    limitEventLists(text, event, eventLists)
    this.#readEvent(asString(event.type) ?? name ?? '', event)
    return this.#flush()
  }

  end(): ReplyEvent[] {
    return this.#flush()
  }

  readWhole(body: JsonObject): ReplyEvent[] {
    const message = asObject(body.message)
    if (!message) return this.#fail(malformedReplyFailure('The provider sent a reply without a message.'))
    this.#start(body.id)
    for (const block of asObjects(message.content)) this.#addContent(block)
    if (typeof message.content === 'string') this.#addText(message.content)
    this.#addText(message.tool_plan)
    for (const citation of asObjects(message.citations)) this.#addCitation(citation)
    for (const call of asObjects(message.tool_calls)) this.#startCall(this.#callCount, call)
    this.#finish(body)
    return this.#flush()
  }

  #readEvent(type: string, event: JsonObject): void {
    const delta = asObject(event.delta) ?? {}
    const message = asObject(delta.message) ?? {}
    switch (type) {
      case 'message-start':
        this.#start(event.id)
        break
      case 'content-start':
        // A block begins a part of its own, even after another of its kind.
        this.#close()
        this.#addContent(asObject(message.content) ?? {})
        break
      case 'content-delta':
        this.#addContent(asObject(message.content) ?? {})
        break
      case 'tool-plan-delta':
        this.#addText(message.tool_plan)
        break
      case 'tool-call-start':
        this.#startCall(event.index, firstObject(message.tool_calls))
        break
      case 'tool-call-delta':
        this.#addArguments(event.index, asObject(firstObject(message.tool_calls).function)?.arguments)
        break
      case 'tool-call-end':
        this.#endCall(event.index)
        break
      case 'citation-start':
        this.#addCitation(firstObject(message.citations))
        break
      case 'message-end':
        this.#finish(delta)
        break
      case 'error':
        this.#addFailure(decodeFailure(event.error ?? event, null))
        break
    }
  }

  #start(id: unknown): void {
    if (this.#isStarted) return
    this.#isStarted = true
    const text = asString(id)
    this.#events.push({ type: 'reply-start', ...(text && { id: text }) })
  }

  #addContent({ text, thinking }: JsonObject): void {
    const reasoning = asString(thinking)
    if (reasoning) this.#append('reasoning', { text: reasoning })
    this.#addText(text)
  }

  #addText(value: unknown): void {
    const text = asString(value)
    if (text) this.#append('text', { text })
  }

  #append(kind: OpenPart['kind'], delta: PartDelta): void {
    if (this.#current?.kind !== kind) {
      this.#close()
      const content: OutputPart =
        kind === 'text' ? { kind, text: '' } : { kind, text: '', summary: [], format: 'unknown' }
      this.#current = { kind, part: this.#openPart(content) }
    }
    this.#events.push({ type: 'part-delta', choice: 0, part: this.#current.part, delta })
  }

  #openPart(content: OutputPart): number {
    this.#start(undefined)
    const part = this.#partCount++
    this.#events.push({ type: 'part-start', choice: 0, part, content })
    return part
  }

  #close(): void {
    if (this.#current) this.#events.push({ type: 'part-end', choice: 0, part: this.#current.part })
    this.#current = null
  }

  #startCall(index: unknown, call: JsonObject): void {
    this.#close()
    this.#endCall(index)
    const { name, arguments: text } = asObject(call.function) ?? {}
    const id = asString(call.id) || `call_${this.#callCount}`
    const part = this.#openPart({ kind: 'tool-call', id, name: asString(name) ?? '', arguments: '' })
    this.#callCount++
    this.#calls.set(index, { part, hasArguments: false })
    this.#addArguments(index, text)
  }

  #addArguments(index: unknown, value: unknown): void {
    const call = this.#calls.get(index)
    const text = asString(value)
    if (!call || !text) return
    call.hasArguments = true
    this.#events.push({ type: 'part-delta', choice: 0, part: call.part, delta: { arguments: text } })
  }

  #endCall(index: unknown): void {
    const call = this.#calls.get(index)
    if (!call) return
    this.#calls.delete(index)
    // A tool without arguments has no deltas.
    if (!call.hasArguments)
      this.#events.push({ type: 'part-delta', choice: 0, part: call.part, delta: { arguments: '{}' } })
    this.#events.push({ type: 'part-end', choice: 0, part: call.part })
  }

  /** Citations of the plan and of reasoning have no text in the reply. */
  #addCitation(citation: JsonObject): void {
    const type = asString(citation.type) ?? 'TEXT_CONTENT'
    if (type !== 'TEXT_CONTENT' || this.#current?.kind !== 'text') return
    const { part } = this.#current
    for (const decoded of decodeCitations(citation))
      this.#events.push({ type: 'part-delta', choice: 0, part, delta: { citation: decoded } })
  }

  #finish({ finish_reason, usage, error }: JsonObject): void {
    this.#start(undefined)
    this.#close()
    for (const index of [...this.#calls.keys()]) this.#endCall(index)
    const counted = decodeUsage(asObject(usage) ?? {})
    if (counted) this.#events.push({ type: 'usage', usage: counted })
    const native = asString(finish_reason) ?? null
    if (native !== null && failedReasons.has(native)) {
      this.#addFailure(decodeFailure(error ?? { message: endedInErrorMessage }, null))
      return
    }
    this.#isOver = true
    const isCall = this.#callCount > 0 && (native === null || native === 'COMPLETE')
    const reason = isCall ? 'tool_calls' : (finishReasons.get(native ?? '') ?? 'stop')
    this.#events.push({ type: 'choice-end', choice: 0, reason, native }, { type: 'reply-end' })
  }

  #fail(failure: ReturnType<typeof decodeFailure>): ReplyEvent[] {
    this.#addFailure(failure)
    return this.#flush()
  }

  #addFailure(failure: ReturnType<typeof decodeFailure>): void {
    this.#isOver = true
    this.#events.push({ type: 'reply-error', failure })
  }

  #flush(): ReplyEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }
}

export function decodeReply(body: JsonObject): ReplyEvent[] {
  return new CohereReader().readWhole(body)
}

/** Events have one object where replies have a list of them. */
function firstObject(value: unknown): JsonObject {
  return (Array.isArray(value) ? asObject(value[0]) : asObject(value)) ?? {}
}

/** One citation for each source. */
function decodeCitations({ start, end, sources }: JsonObject): Citation[] {
  return asObjects(sources).map(({ id, document }) => {
    const { url, title, snippet, text } = asObject(document) ?? {}
    const [address, name] = [asString(url), asString(title)]
    const file = omitUndefined({ id: asString(id), name })
    return omitUndefined({
      url: address,
      title: name,
      citedText: asString(snippet) ?? asString(text),
      file: address === undefined && Object.keys(file).length > 0 ? file : undefined,
      start: asNumber(start),
      end: asNumber(end),
    })
  })
}
