import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ChoiceEnd, PartDelta, Reply, ReplyEvent } from '../call/event.ts'
import type { OutputPart } from '../call/part.ts'
import { type Usage, type UsageCost, zeroUsage } from '../call/usage.ts'
import { encodeServiceMetadata, type ReplyContext, type ReplyWriter } from '../wire-format.ts'
import { BlockFrames, formatFrame } from './block-frames.ts'
import { createPartWriter, encodeBlocks, type PartWriter } from './block-writer.ts'
import { encodeErrorEvent } from './error.ts'
import { encodeStopFields } from './stop-reason.ts'
import { emptyUsage, encodeCost, encodeServedTier, encodeUsage } from './usage.ts'

export const heartbeat = 'event: ping\ndata: {"type": "ping"}\n\n'

/** A part between its start and end events. */
interface PendingPart {
  content: OutputPart
  writer: PartWriter | null | undefined
  deltas: PartDelta[]
  isQueued: boolean
  isEnded: boolean
}

/** The format has one choice with sequential blocks, so parts that are streamed in parallel are queued. */
class MessagesWriter implements ReplyWriter {
  readonly finalBody = null
  readonly #context: ReplyContext
  readonly #frames = new BlockFrames()
  readonly #hidesReasoning: boolean
  readonly #parts = new Map<number, PendingPart>()
  #queue: PendingPart[] = []
  #current: PendingPart | null = null
  #isStarted = false
  #tier: ReplyContext['tier']
  #reportedTier = ''
  #choiceEnd: ChoiceEnd | null = null
  #features = { hasToolCalls: false, hasRefusal: false }

  constructor(context: ReplyContext) {
    this.#context = context
    this.#tier = context.tier
    this.#hidesReasoning = context.call.reasoning?.exclude === true
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case 'reply-start':
        this.#tier = event.serviceTier ?? this.#tier
        return this.#start()
      case 'part-start':
        return event.choice === 0 ? this.#start() + this.#startPart(event.part, event.content) : ''
      case 'part-delta':
        return event.choice === 0 ? this.#addDelta(event.part, event.delta) : ''
      case 'part-end':
        return event.choice === 0 ? this.#endPart(event.part) : ''
      case 'choice-end':
        if (event.choice === 0) this.#choiceEnd = event
        return ''
      default:
        return ''
    }
  }

  end(usage: Usage, cost: UsageCost): string {
    const stop = encodeStopFields(this.#choiceEnd, this.#features)
    return (
      this.#start() +
      this.#closeAllParts() +
      formatFrame('message_delta', {
        delta: { container: null, ...stop },
        usage: { ...encodeUsage(usage), ...this.#encodeChangedTier(), ...encodeCost(usage, cost) },
      }) +
      formatFrame('message_stop', encodeServiceMetadata(this.#context))
    )
  }

  fail(error: GatewayError): string {
    return encodeErrorEvent(error, this.#context.id)
  }

  #start(): string {
    if (this.#isStarted) return ''
    this.#isStarted = true
    this.#reportedTier = encodeServedTier(this.#tier)
    const usage = { ...emptyUsage, service_tier: this.#reportedTier }
    return formatFrame('message_start', { message: { ...createEmptyMessage(this.#context), usage } })
  }

  /** Some vendors report the service tier only at the end. */
  #encodeChangedTier(): JsonObject {
    const tier = encodeServedTier(this.#tier)
    return tier === this.#reportedTier ? {} : { service_tier: tier }
  }

  #startPart(partIndex: number, content: OutputPart): string {
    if (content.kind === 'tool-call') this.#features.hasToolCalls = true
    if (content.kind === 'refusal') this.#features.hasRefusal = true
    const part: PendingPart = { content, writer: undefined, deltas: [], isQueued: true, isEnded: false }
    this.#parts.set(partIndex, part)
    this.#queue.push(part)
    return this.#advance()
  }

  #addDelta(partIndex: number, delta: PartDelta): string {
    const part = this.#parts.get(partIndex)
    if (!part) return ''
    if (part === this.#current) return part.writer?.add(delta) ?? ''
    part.deltas.push(delta)
    if (!part.isQueued) this.#queue.push(part)
    part.isQueued = true
    return this.#advance()
  }

  #endPart(partIndex: number): string {
    const part = this.#parts.get(partIndex)
    if (!part) return ''
    part.isEnded = true
    return part === this.#current ? this.#closePart(part) + this.#advance() : ''
  }

  #closePart(part: PendingPart): string {
    this.#current = null
    return part.writer?.close() ?? ''
  }

  /** Writes queued parts if the open block can be closed. */
  #advance(): string {
    let text = ''
    while (this.#queue.length > 0) {
      const paused = this.#current ? this.#current.writer?.pause() : ''
      if (paused === null) return text
      text += paused ?? ''
      const part = this.#queue.shift()
      if (part) text += this.#writePart(part)
    }
    return text
  }

  #writePart(part: PendingPart): string {
    part.isQueued = false
    this.#current = part
    let text = ''
    if (part.writer === undefined) {
      part.writer = createPartWriter(part.content, this.#frames, this.#hidesReasoning)
      text = part.writer?.start() ?? ''
    }
    for (const delta of part.deltas.splice(0)) text += part.writer?.add(delta) ?? ''
    return part.isEnded ? text + this.#closePart(part) : text
  }

  #closeAllParts(): string {
    for (const part of this.#parts.values()) part.isEnded = true
    return (this.#current ? this.#closePart(this.#current) : '') + this.#advance()
  }
}

export function createWriter(context: ReplyContext): ReplyWriter {
  return new MessagesWriter(context)
}

export function encodeReply(reply: Reply, context: ReplyContext, cost: UsageCost): JsonObject {
  const choice = reply.choices.find(({ index }) => index === 0)
  const parts = choice?.parts ?? []
  const hidesReasoning = context.call.reasoning?.exclude === true
  const stop = encodeStopFields(choice?.end ?? null, {
    hasToolCalls: parts.some(({ kind }) => kind === 'tool-call'),
    hasRefusal: parts.some(({ kind }) => kind === 'refusal'),
  })
  return {
    ...createEmptyMessage(context),
    content: parts.flatMap((part) => encodeBlocks(part, hidesReasoning)),
    ...stop,
    usage: {
      ...emptyUsage,
      service_tier: encodeServedTier(reply.start.serviceTier ?? context.tier),
      ...encodeUsage(reply.usage ?? zeroUsage),
      ...encodeCost(reply.usage ?? zeroUsage, cost),
    },
    ...encodeServiceMetadata(context),
  }
}

/** A reply without content. */
export function createEmptyMessage(context: ReplyContext): JsonObject {
  return {
    id: context.id,
    type: 'message',
    role: 'assistant',
    model: context.model,
    provider: context.provider,
    content: [],
    container: null,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
  }
}
