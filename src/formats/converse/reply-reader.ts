import type { SseFrame } from '../../platform/http/sse.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ChoiceEnd, FinishReason, PartDelta, ReplyEvent } from '../call/event.ts'
import type { UpstreamFailure } from '../call/failure.ts'
import type { OpenBlock } from '../part-sink.ts'
import type { ListPaths } from '../reply-lists.ts'
import { decodeServedTier } from '../tier.ts'
import type { ReplyReader } from '../wire-format.ts'
import { addWholeBlock, openBlock } from './block-reader.ts'
import { decodeException } from './error.ts'
import { decodeUsage } from './usage.ts'

export const replyLists: ListPaths = [['output', 'message', 'content']]

const finishReasons = new Map<string, FinishReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['malformed_model_output', 'error'],
  ['malformed_tool_use', 'error'],
])

/** Reads events by name: `{"contentBlockDelta": {...}}`. Usage comes last, or before the end of the message. */
export class ConverseReader implements ReplyReader {
  readonly #blocks = new Map<unknown, OpenBlock>()
  #events: ReplyEvent[] = []
  #partCount = 0
  #hasToolCalls = false
  #isStarted = false
  #isStopped = false
  /** The reply ended or failed: later events are ignored. */
  #isOver = false

  read({ data }: SseFrame): ReplyEvent[] {
    if (this.#isOver || data.trim() === '') return []
    const event = asObject(tryParseJson(data))
    if (!event) return this.#fail({ message: 'The provider sent an event that is not a JSON object.' })
    const [name, value] = Object.entries(event)[0] ?? []
    if (name !== undefined) this.#readEvent(name, asObject(value) ?? {})
    return this.#flush()
  }

  end(): ReplyEvent[] {
    if (this.#isOver || !this.#isStopped) return this.#flush()
    this.#isOver = true
    this.#events.push({ type: 'reply-end' })
    return this.#flush()
  }

  readWhole(body: JsonObject): ReplyEvent[] {
    const message = asObject(asObject(body.output)?.message)
    if (!message) return this.#fail({ message: 'The provider sent a reply without a message.' })
    this.#start(body.serviceTier)
    for (const block of asObjects(message.content)) {
      if (block.toolUse !== undefined) this.#hasToolCalls = true
      addWholeBlock(block, this.#sink)
    }
    this.#stop(body)
    this.#addUsage(body.usage)
    return [...this.#flush(), ...this.end()]
  }

  #readEvent(name: string, event: JsonObject): void {
    if (this.#isOver) return
    switch (name) {
      case 'messageStart':
        this.#start(undefined)
        break
      case 'contentBlockStart':
        this.#openBlock(event.contentBlockIndex, asObject(event.start) ?? {})
        break
      case 'contentBlockDelta':
        this.#addDelta(event.contentBlockIndex, asObject(event.delta) ?? {})
        break
      case 'contentBlockStop':
        this.#closeBlock(event.contentBlockIndex)
        break
      case 'messageStop':
        this.#stop(event)
        break
      case 'metadata':
        this.#addMetadata(event)
        break
      default:
        if (name.endsWith('Exception')) this.#addFailure(decodeException(name, event, null))
    }
  }

  #start(tier: unknown): void {
    if (this.#isStarted) return
    this.#isStarted = true
    const serviceTier = decodeServedTier(asObject(tier)?.type)
    this.#events.push({ type: 'reply-start', ...(serviceTier && { serviceTier }) })
  }

  #openBlock(index: unknown, start: JsonObject): void {
    if (this.#isStopped) return
    this.#closeBlock(index)
    if (start.toolUse !== undefined) this.#hasToolCalls = true
    this.#blocks.set(index, openBlock(start, this.#sink))
  }

  /** Only blocks of tools and images have a start. */
  #addDelta(index: unknown, delta: JsonObject): void {
    if (this.#isStopped) return
    if (!this.#blocks.has(index)) this.#openBlock(index, delta)
    this.#blocks.get(index)?.add(delta)
  }

  #closeBlock(index: unknown): void {
    this.#blocks.get(index)?.close()
    this.#blocks.delete(index)
  }

  #stop(event: JsonObject): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#start(undefined)
    for (const index of [...this.#blocks.keys()]) this.#closeBlock(index)
    this.#events.push(decodeEnd(event, this.#hasToolCalls))
  }

  #addMetadata({ usage, serviceTier }: JsonObject): void {
    const tier = decodeServedTier(asObject(serviceTier)?.type)
    if (tier) this.#events.push({ type: 'reply-start', serviceTier: tier })
    this.#addUsage(usage)
  }

  #addUsage(value: unknown): void {
    const usage = decodeUsage(asObject(value) ?? {})
    if (usage) this.#events.push({ type: 'usage', usage })
  }

  readonly #sink = {
    start: (content: Extract<ReplyEvent, { type: 'part-start' }>['content']): number => {
      const part = this.#partCount++
      this.#start(undefined)
      this.#events.push({ type: 'part-start', choice: 0, part, content })
      return part
    },
    delta: (part: number, delta: PartDelta): void => {
      this.#events.push({ type: 'part-delta', choice: 0, part, delta })
    },
    end: (part: number): void => {
      this.#events.push({ type: 'part-end', choice: 0, part })
    },
  }

  #fail(failure: Pick<UpstreamFailure, 'message'>): ReplyEvent[] {
    this.#addFailure({ kind: 'provider_unavailable', status: null, ...failure })
    return this.#flush()
  }

  #addFailure(failure: UpstreamFailure): void {
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
  return new ConverseReader().readWhole(body)
}

/** Some models report `end_turn` after tool calls. */
function decodeEnd(
  { stopReason, additionalModelResponseFields }: JsonObject,
  hasToolCalls: boolean,
): ChoiceEnd {
  const native = asString(stopReason) ?? null
  const isPlain = native === null || native === 'end_turn'
  const reason = isPlain && hasToolCalls ? 'tool_calls' : (finishReasons.get(native ?? '') ?? 'stop')
  const fields = asObject(additionalModelResponseFields)
  const found = asString(fields?.stop_sequence) ?? asString(asObject(fields?.delta)?.stop_sequence)
  return {
    type: 'choice-end',
    choice: 0,
    reason,
    native,
    ...(found !== undefined && { stopSequence: found }),
  }
}
