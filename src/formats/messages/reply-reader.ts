import type { SseFrame } from '../../platform/http/sse.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { PartDelta, ReplyEvent } from '../call/event.ts'
import type { UpstreamFailure } from '../call/failure.ts'
import type { OutputPart } from '../call/part.ts'
import { errorObjectOf } from '../error-object.ts'
import type { OpenBlock } from '../part-sink.ts'
import { type ListPaths, limitEventLists } from '../reply-lists.ts'
import type { ReplyReader } from '../wire-format.ts'
import { openBlock } from './block-reader.ts'
import { decodeFailure, malformedReplyFailure } from './error.ts'
import { decodeChoiceEnd } from './stop-reason.ts'
import { decodeTier, decodeUsage, mergeUsage } from './usage.ts'

/** Builds the events of a reply from the blocks of a stream or of a whole reply. */
class ReplyEventBuilder {
  readonly events: ReplyEvent[] = []
  readonly #openBlocks = new Map<unknown, OpenBlock>()
  #usage: JsonObject = {}
  #partCount = 0
  #hasToolCalls = false
  #isFinished = false
  hasStarted = false
  /** The first event carried the whole message, so no other event is required. */
  isWholeMessage = false
  /** The upstream ended or failed the reply: later events are ignored. */
  isOver = false

  get hasParts(): boolean {
    return this.#partCount > 0 || this.#openBlocks.size > 0
  }

  startReply(message: JsonObject): void {
    this.hasStarted = true
    const event: ReplyEvent = { type: 'reply-start' }
    const [id, model] = [asString(message.id), asString(message.model)]
    if (id !== undefined) event.id = id
    if (model !== undefined) event.model = model
    const tier = decodeTier(message.usage)
    if (tier !== undefined) event.serviceTier = tier
    this.events.push(event)
  }

  addUsage(usage: unknown): void {
    if (!asObject(usage)) return
    this.#usage = mergeUsage(this.#usage, usage)
    const decoded = decodeUsage(this.#usage)
    if (decoded) this.events.push({ type: 'usage', usage: decoded })
  }

  openBlock(index: unknown, block: JsonObject): void {
    this.closeBlock(index)
    if (block.type === 'tool_use') this.#hasToolCalls = true
    this.#openBlocks.set(
      index,
      openBlock(block, {
        start: (content) => this.#startPart(content),
        delta: (part, delta) => this.#emitDelta(part, delta),
        end: (part) => this.events.push({ type: 'part-end', choice: 0, part }),
      }),
    )
  }

  addDelta(index: unknown, delta: JsonObject): void {
    // Some compatible servers omit the start event of a text block.
    if (!this.#openBlocks.has(index) && delta.type === 'text_delta')
      this.openBlock(index, { type: 'text', text: '' })
    this.#openBlocks.get(index)?.add(delta)
  }

  closeBlock(index: unknown): void {
    this.#openBlocks.get(index)?.close()
    this.#openBlocks.delete(index)
  }

  /** Content of a first event or a whole reply. The message is whole if it has a stop reason. */
  addMessage(message: JsonObject): void {
    for (const block of asObjects(message.content)) {
      this.openBlock(block, block)
      this.closeBlock(block)
    }
    this.finishChoice(message)
    this.isWholeMessage = this.#isFinished
  }

  finishChoice(delta: JsonObject): void {
    if (this.#isFinished || asString(delta.stop_reason) === undefined) return
    this.#endChoice(delta)
  }

  endReply(): void {
    if (!this.#isFinished) this.#endChoice({})
    this.events.push({ type: 'reply-end' })
    this.isOver = true
  }

  fail(failure: UpstreamFailure): void {
    this.events.push({ type: 'reply-error', failure })
    this.isOver = true
  }

  #endChoice(delta: JsonObject): void {
    this.#isFinished = true
    for (const index of [...this.#openBlocks.keys()]) this.closeBlock(index)
    this.events.push(decodeChoiceEnd(delta, this.#hasToolCalls))
  }

  #startPart(content: OutputPart): number {
    const part = this.#partCount++
    this.events.push({ type: 'part-start', choice: 0, part, content })
    return part
  }

  #emitDelta(part: number, delta: PartDelta): void {
    this.events.push({ type: 'part-delta', choice: 0, part, delta })
  }
}

type EventHandler = (builder: ReplyEventBuilder, event: JsonObject) => void

/** Handlers by `type`. Other events, such as `ping`, are ignored. */
const handlers: Record<string, EventHandler> = {
  message_start: (builder, event) => {
    const message = asObject(event.message) ?? {}
    // A proxy may repeat the event; the counts in a later one are newer.
    if (!builder.hasStarted) builder.startReply(message)
    builder.addUsage(message.usage)
    if (!builder.hasParts) builder.addMessage(message)
  },
  content_block_start: (builder, event) =>
    builder.openBlock(event.index, asObject(event.content_block) ?? {}),
  content_block_delta: (builder, event) => builder.addDelta(event.index, asObject(event.delta) ?? {}),
  content_block_stop: (builder, event) => builder.closeBlock(event.index),
  message_delta: (builder, event) => {
    builder.finishChoice(asObject(event.delta) ?? {})
    builder.addUsage(event.usage)
  },
  message_stop: (builder) => builder.endReply(),
  error: (builder, event) => builder.fail(decodeFailure(errorObjectOf(event) ?? event, null)),
}

export function createReader(): ReplyReader {
  const builder = new ReplyEventBuilder()
  return {
    read: (frame) => {
      if (!builder.isOver) readFrame(builder, frame)
      return builder.events.splice(0)
    },
    end: () => {
      if (builder.isWholeMessage && !builder.isOver) builder.endReply()
      return builder.events.splice(0)
    },
  }
}

function readFrame(builder: ReplyEventBuilder, frame: SseFrame): void {
  if (frame.data === '[DONE]') return
  const event = parseEvent(frame.data)
  if (!event) {
    builder.fail(malformedReplyFailure('The provider sent an event that is not a JSON object.'))
    return
  }
  const type = asString(event.type) ?? (event.error ? 'error' : frame.event)
  if (Object.hasOwn(handlers, type)) handlers[type]?.(builder, event)
}

/** Accepts lone surrogates: a pair may be split between two deltas. */
export function parseEvent(data: string): JsonObject | undefined {
  const event = tryParseObject(data)
  limitEventLists(data, event, eventLists)
  return event
}

export const replyLists: ListPaths = [['content'], ['content', 'citations']]

const eventLists: ListPaths = [
  ['message', 'content'],
  ['message', 'content', 'citations'],
  ['content_block', 'citations'],
]

function tryParseObject(data: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(data))
  } catch {
    return undefined
  }
}

export function decodeReply(body: JsonObject): ReplyEvent[] {
  const builder = new ReplyEventBuilder()
  const error = errorObjectOf(body)
  if (error) builder.fail(decodeFailure(error, null))
  else if (!Array.isArray(body.content))
    builder.fail(malformedReplyFailure('The provider sent a reply without content.'))
  else {
    builder.startReply(body)
    builder.addMessage(body)
    builder.addUsage(body.usage)
    builder.endReply()
  }
  return builder.events
}
