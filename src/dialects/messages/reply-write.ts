import type { ChoiceEnd, PartDelta, Reply, ReplyEvent } from '../../call/event.ts'
import type { OutputPart } from '../../call/part.ts'
import { type Bill, noTokens, type Usage } from '../../call/usage.ts'
import type { GatewayError } from '../../errors.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { explained, type ReplyFacts, type ReplyWriter } from '../dialect.ts'
import { BlockFrames, frame } from './block-frames.ts'
import { blockOf, type PartWriter, partWriter } from './block-write.ts'
import { errorEvent } from './error.ts'
import { writeStop } from './stop.ts'
import { emptyUsage, tierName, writeBill, writeUsage } from './usage.ts'

export const heartbeat = 'event: ping\ndata: {"type": "ping"}\n\n'

/** A part between its first and its last event. */
interface Waiting {
  content: OutputPart
  writer: PartWriter | null | undefined
  pending: PartDelta[]
  isQueued: boolean
  ended: boolean
}

/** The format has one answer, in blocks one after the other: parts that come at the same time wait for each other. */
class MessagesWriter implements ReplyWriter {
  readonly final = null
  readonly #about: ReplyFacts
  readonly #frames = new BlockFrames()
  readonly #hide: boolean
  readonly #parts = new Map<number, Waiting>()
  #queue: Waiting[] = []
  #current: Waiting | null = null
  #started = false
  #tier: ReplyFacts['tier']
  #toldTier = ''
  #choiceEnd: ChoiceEnd | null = null
  #seen = { tools: false, refused: false }

  constructor(about: ReplyFacts) {
    this.#about = about
    this.#tier = about.tier
    this.#hide = about.call.reasoning?.exclude === true
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case 'reply-start':
        this.#tier = event.serviceTier ?? this.#tier
        return this.#start()
      case 'part-start':
        return event.choice === 0 ? this.#start() + this.#partStart(event.part, event.content) : ''
      case 'part-delta':
        return event.choice === 0 ? this.#partDelta(event.part, event.delta) : ''
      case 'part-end':
        return event.choice === 0 ? this.#partEnd(event.part) : ''
      case 'choice-end':
        if (event.choice === 0) this.#choiceEnd = event
        return ''
      default:
        return ''
    }
  }

  end(usage: Usage, bill: Bill): string {
    const stop = writeStop(this.#choiceEnd, this.#seen)
    return (
      this.#start() +
      this.#closeAll() +
      frame('message_delta', {
        delta: { container: null, ...stop },
        usage: { ...writeUsage(usage), ...this.#lateTier(), ...writeBill(bill) },
      }) +
      frame('message_stop', explained(this.#about))
    )
  }

  fail(error: GatewayError): string {
    return errorEvent(error, this.#about.id)
  }

  #start(): string {
    if (this.#started) return ''
    this.#started = true
    this.#toldTier = tierName(this.#tier)
    const usage = { ...emptyUsage, service_tier: this.#toldTier }
    return frame('message_start', { message: { ...skeleton(this.#about), usage } })
  }

  /** Some vendors say only at the end what served. */
  #lateTier(): JsonObject {
    const tier = tierName(this.#tier)
    return tier === this.#toldTier ? {} : { service_tier: tier }
  }

  #partStart(number: number, content: OutputPart): string {
    if (content.kind === 'tool-call') this.#seen.tools = true
    if (content.kind === 'refusal') this.#seen.refused = true
    const part: Waiting = { content, writer: undefined, pending: [], isQueued: true, ended: false }
    this.#parts.set(number, part)
    this.#queue.push(part)
    return this.#advance()
  }

  #partDelta(number: number, delta: PartDelta): string {
    const part = this.#parts.get(number)
    if (!part) return ''
    if (part === this.#current) return part.writer?.add(delta) ?? ''
    part.pending.push(delta)
    if (!part.isQueued) this.#queue.push(part)
    part.isQueued = true
    return this.#advance()
  }

  #partEnd(number: number): string {
    const part = this.#parts.get(number)
    if (!part) return ''
    part.ended = true
    return part === this.#current ? this.#close(part) + this.#advance() : ''
  }

  #close(part: Waiting): string {
    this.#current = null
    return part.writer?.close() ?? ''
  }

  /** Lets those that wait have their turn, as far as the open block allows. */
  #advance(): string {
    let text = ''
    while (this.#queue.length > 0) {
      const paused = this.#current ? this.#current.writer?.pause() : ''
      if (paused === null) return text
      text += paused ?? ''
      const part = this.#queue.shift()
      if (part) text += this.#take(part)
    }
    return text
  }

  #take(part: Waiting): string {
    part.isQueued = false
    this.#current = part
    let text = ''
    if (part.writer === undefined) {
      part.writer = partWriter(part.content, this.#frames, this.#hide)
      text = part.writer?.start() ?? ''
    }
    for (const delta of part.pending.splice(0)) text += part.writer?.add(delta) ?? ''
    return part.ended ? text + this.#close(part) : text
  }

  #closeAll(): string {
    for (const part of this.#parts.values()) part.ended = true
    return (this.#current ? this.#close(this.#current) : '') + this.#advance()
  }
}

export function writer(about: ReplyFacts): ReplyWriter {
  return new MessagesWriter(about)
}

export function encodeReply(reply: Reply, about: ReplyFacts, bill: Bill): JsonObject {
  const choice = reply.choices.find(({ index }) => index === 0)
  const parts = choice?.parts ?? []
  const hide = about.call.reasoning?.exclude === true
  const stop = writeStop(choice?.end ?? null, {
    tools: parts.some(({ kind }) => kind === 'tool-call'),
    refused: parts.some(({ kind }) => kind === 'refusal'),
  })
  return {
    ...skeleton(about),
    content: parts.map((part) => blockOf(part, hide)).filter((block) => block !== null),
    ...stop,
    usage: {
      ...emptyUsage,
      service_tier: tierName(reply.start.serviceTier ?? about.tier),
      ...writeUsage(reply.usage ?? noTokens),
      ...writeBill(bill),
    },
    ...explained(about),
  }
}

/** A reply without its content. */
export function skeleton(about: ReplyFacts): JsonObject {
  return {
    id: about.id,
    type: 'message',
    role: 'assistant',
    model: about.model,
    provider: about.provider,
    content: [],
    container: null,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
  }
}
