import type { PartDelta, ReplyEvent } from '../../call/event.ts'
import type { UpstreamFailure } from '../../call/failure.ts'
import type { OutputPart } from '../../call/part.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import type { ReplyReader } from '../dialect.ts'
import { type OpenBlock, openBlock } from './block-read.ts'
import { brokenReply, failureOf } from './error.ts'
import { readStop } from './stop.ts'
import { mergeUsage, readTier, readUsage } from './usage.ts'

/** The events of a reply, from its pieces: the blocks of a stream, or of a whole reply one by one. */
class ReplyParts {
  readonly events: ReplyEvent[] = []
  readonly #open = new Map<unknown, OpenBlock>()
  #usage: JsonObject = {}
  #parts = 0
  #calledTools = false
  #finished = false
  /** The first event had all of the message: nothing needs to follow it. */
  isWhole = false
  /** The vendor said that this was all, or that it failed: nothing after it counts. */
  over = false

  start(message: JsonObject): void {
    const event: ReplyEvent = { type: 'reply-start' }
    const [id, model] = [textOf(message.id), textOf(message.model)]
    if (id !== undefined) event.id = id
    if (model !== undefined) event.model = model
    const tier = readTier(message.usage)
    if (tier !== undefined) event.serviceTier = tier
    this.events.push(event)
  }

  usage(usage: unknown): void {
    if (!objectOf(usage)) return
    this.#usage = mergeUsage(this.#usage, usage)
    const read = readUsage(this.#usage)
    if (read) this.events.push({ type: 'usage', usage: read })
  }

  open(index: unknown, block: JsonObject): void {
    this.close(index)
    if (block.type === 'tool_use') this.#calledTools = true
    this.#open.set(
      index,
      openBlock(block, {
        start: (content) => this.#start(content),
        delta: (part, delta) => this.#delta(part, delta),
        end: (part) => this.events.push({ type: 'part-end', choice: 0, part }),
      }),
    )
  }

  delta(index: unknown, delta: JsonObject): void {
    // Not every imitation of the format says that a block of text begins.
    if (!this.#open.has(index) && delta.type === 'text_delta') this.open(index, { type: 'text', text: '' })
    this.#open.get(index)?.add(delta)
  }

  close(index: unknown): void {
    this.#open.get(index)?.close()
    this.#open.delete(index)
  }

  /** What a first event, or a whole reply, has of the message: all of it where it says how it stopped. */
  whole(message: JsonObject): void {
    for (const block of objectsOf(message.content)) {
      this.open(block, block)
      this.close(block)
    }
    this.finish(message)
    this.isWhole = this.#finished
  }

  finish(delta: JsonObject): void {
    if (this.#finished || textOf(delta.stop_reason) === undefined) return
    this.#end(delta)
  }

  stop(): void {
    if (!this.#finished) this.#end({})
    this.events.push({ type: 'reply-end' })
    this.over = true
  }

  fail(failure: UpstreamFailure): void {
    this.events.push({ type: 'reply-error', failure })
    this.over = true
  }

  #end(delta: JsonObject): void {
    this.#finished = true
    for (const index of [...this.#open.keys()]) this.close(index)
    this.events.push(readStop(delta, this.#calledTools))
  }

  #start(content: OutputPart): number {
    const part = this.#parts++
    this.events.push({ type: 'part-start', choice: 0, part, content })
    return part
  }

  #delta(part: number, delta: PartDelta): void {
    this.events.push({ type: 'part-delta', choice: 0, part, delta })
  }
}

type Handle = (parts: ReplyParts, event: JsonObject) => void

/** By `type`. Others, such as `ping`, say nothing about the reply. */
const handlers: Record<string, Handle> = {
  message_start: (parts, event) => {
    const message = objectOf(event.message) ?? {}
    parts.start(message)
    parts.usage(message.usage)
    parts.whole(message)
  },
  content_block_start: (parts, event) => parts.open(event.index, objectOf(event.content_block) ?? {}),
  content_block_delta: (parts, event) => parts.delta(event.index, objectOf(event.delta) ?? {}),
  content_block_stop: (parts, event) => parts.close(event.index),
  message_delta: (parts, event) => {
    parts.finish(objectOf(event.delta) ?? {})
    parts.usage(event.usage)
  },
  message_stop: (parts) => parts.stop(),
  error: (parts, event) => parts.fail(failureOf(objectOf(event.error) ?? {}, null)),
}

export function reader(): ReplyReader {
  const parts = new ReplyParts()
  return {
    read: (frame) => {
      if (!parts.over) readFrame(parts, frame)
      return parts.events.splice(0)
    },
    end: () => {
      if (parts.isWhole && !parts.over) parts.stop()
      return parts.events.splice(0)
    },
  }
}

function readFrame(parts: ReplyParts, frame: SseFrame): void {
  if (frame.data === '[DONE]') return
  const event = parseEvent(frame.data)
  if (!event) {
    parts.fail(brokenReply('The upstream sent an event that is not a JSON object.'))
    return
  }
  const type = textOf(event.type) ?? (event.error ? 'error' : frame.event)
  if (Object.hasOwn(handlers, type)) handlers[type]?.(parts, event)
}

/** JSON.parse alone: half a surrogate pair may end one delta and begin the next. */
export function parseEvent(data: string): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(data))
  } catch {
    return undefined
  }
}

export function decodeReply(body: JsonObject): ReplyEvent[] {
  const parts = new ReplyParts()
  const error = objectOf(body.error)
  if (error) parts.fail(failureOf(error, null))
  else if (!Array.isArray(body.content)) parts.fail(brokenReply('The upstream sent a reply without content.'))
  else {
    parts.start(body)
    parts.whole(body)
    parts.usage(body.usage)
    parts.stop()
  }
  return parts.events
}
