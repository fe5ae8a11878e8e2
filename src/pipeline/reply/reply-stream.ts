import type { ReplyEvent } from '../../call/event.ts'
import type { Usage, UsageCost } from '../../call/usage.ts'
import type { Relay, ReplySummary } from '../../dialects/dialect.ts'
import type { GatewayError } from '../../errors/gateway-error.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { type FrameReader, SseError } from '../../lib/sse.ts'
import type { TimeSlicer } from '../../lib/time-slicer.ts'
import { unexpectedReplyError } from '../upstream/errors.ts'
import type { UpstreamExchange } from '../upstream/upstream-exchange.ts'
import type { EventEncoder } from './event-encoder.ts'

/** A streamed reply on its way to the client, wherever it comes from. */
export interface ReplyStream {
  /** The next text for the client, possibly empty; null when the upstream has no more. */
  next(): Promise<string | null>
  /** What still follows when the upstream is not waited for any longer. */
  close(): string
  readonly summary: ReplySummary
  end(usage: Usage, cost: UsageCost): string
  fail(error: GatewayError): string
  readonly final: JsonObject | null
  /** Closes the upstream. */
  cancel(): void
}

/** What a reply may amount to before it is cut off. */
export interface ReplyBounds {
  /** Of a stream, as it was sent. */
  bytes: number
  events: number
  parts: number
  /** Of what it says: some formats repeat all of it at the end. */
  characters: number
}

export interface StreamLimits {
  turns: TimeSlicer
  bounds: ReplyBounds
}

/** A failure when the reply has more than it may have. */
export function checkBounds(
  { partCount, characters }: ReplySummary,
  bounds: Pick<ReplyBounds, 'parts' | 'characters'>,
): void {
  if (partCount > bounds.parts)
    throw unexpectedReplyError(`The reply of the provider has more than ${bounds.parts} parts.`)
  if (characters > bounds.characters) throw unexpectedReplyError('The reply of the provider is too large.')
}

/** More is not turned into text at once: for a client that reads slowly it would lie in memory several times over. */
const maxSliceBytes = 16 * 1024

/** From an upstream's bytes. */
export class UpstreamStream implements ReplyStream {
  readonly #exchange: UpstreamExchange
  readonly #body: { read(): Promise<{ done: boolean; value?: Uint8Array }> }
  readonly #frames: FrameReader
  readonly #relay: Relay
  #pendingRead: Promise<string | null> | null = null
  /** What was received and not looked at yet. */
  #unread: Uint8Array | null = null
  #ended = false
  readonly #turns: TimeSlicer
  readonly #bounds: ReplyBounds
  #bytes = 0
  #events = 0

  constructor(
    response: Response,
    relay: Relay,
    exchange: UpstreamExchange,
    frames: FrameReader,
    { turns, bounds }: StreamLimits,
  ) {
    if (!response.body) throw unexpectedReplyError('The provider answered without a body.')
    this.#body = response.body.getReader()
    this.#relay = relay
    this.#exchange = exchange
    this.#frames = frames
    this.#turns = turns
    this.#bounds = bounds
  }

  get summary(): ReplySummary {
    return this.#relay.summary
  }
  get final(): JsonObject | null {
    return this.#relay.finalBody
  }

  /** Who asks while a text is awaited gets the same one: a reader that left and one that reads on do not collide. */
  next(): Promise<string | null> {
    this.#pendingRead ??= this.#read().finally(() => {
      this.#pendingRead = null
    })
    return this.#pendingRead
  }

  async #read(): Promise<string | null> {
    if (this.#ended) return null
    try {
      const bytes = this.#unread ?? (await this.#body.read()).value
      if (!bytes) return this.close()
      const isLong = bytes.length > maxSliceBytes
      this.#unread = isLong ? bytes.subarray(maxSliceBytes) : null
      for (let turn = this.#turns.pendingYield; turn; turn = this.#turns.pendingYield) await turn
      // It may have been closed in the meantime.
      if (this.#ended) return null
      const startedAt = performance.now()
      const text = this.#push(isLong ? bytes.subarray(0, maxSliceBytes) : bytes)
      this.#turns.recordWork(startedAt)
      return text
    } catch (error) {
      // A connection that goes after the reply was complete takes nothing with it; before, half a frame says nothing.
      if (this.summary.isComplete) {
        const rest = this.close()
        if (!this.summary.failure) return rest
      }
      this.#ended = true
      throw error instanceof SseError ? unexpectedReplyError(error.message) : this.#exchange.toError(error)
    }
  }

  close(): string {
    if (this.#ended) return ''
    this.#ended = true
    return this.#pass(this.#frames.end()) + (this.#relay.close?.() ?? '')
  }

  #push(bytes: Uint8Array): string {
    this.#bytes += bytes.length
    if (this.#bytes > this.#bounds.bytes)
      throw unexpectedReplyError('The reply of the provider is too large.')
    return this.#pass(this.#frames.push(bytes))
  }

  #pass(frames: ReturnType<FrameReader['push']>): string {
    this.#events += frames.length
    const { events } = this.#bounds
    if (this.#events > events)
      throw unexpectedReplyError(`The reply of the provider has more than ${events} events.`)
    let text = ''
    for (const frame of frames) text += this.#relay.pass(frame)
    checkBounds(this.summary, this.#bounds)
    return text
  }

  end(usage: Usage, cost: UsageCost): string {
    return this.#relay.end(usage, cost)
  }
  fail(error: GatewayError): string {
    return this.#relay.fail(error)
  }
  cancel(): void {
    this.#ended = true
    this.#exchange.abort()
  }
}

/** A stream of events: of a provider in this process, or of a whole reply to a request for a stream. */
export class EventStream implements ReplyStream {
  readonly #events: AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>
  readonly #encoder: EventEncoder
  readonly #exchange: UpstreamExchange
  readonly #turns: TimeSlicer
  readonly #bounds: ReplyBounds

  constructor(
    events: AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>,
    encoder: EventEncoder,
    exchange: UpstreamExchange,
    { turns, bounds }: StreamLimits,
  ) {
    this.#events = events
    this.#encoder = encoder
    this.#exchange = exchange
    this.#turns = turns
    this.#bounds = bounds
  }

  get summary(): ReplySummary {
    return this.#encoder.summary
  }
  get final(): JsonObject | null {
    return this.#encoder.finalBody
  }

  async next(): Promise<string | null> {
    try {
      for (let turn = this.#turns.pendingYield; turn; turn = this.#turns.pendingYield) await turn
      const { done, value } = await this.#turns.runCounted(() => this.#events.next())
      if (done) return null
      return this.#turns.runCounted(() => {
        const text = this.#encoder.write(value)
        checkBounds(this.summary, this.#bounds)
        return text
      })
    } catch (error) {
      throw this.#exchange.toError(error)
    }
  }

  close(): string {
    return ''
  }
  end(usage: Usage, cost: UsageCost): string {
    return this.#encoder.end(usage, cost)
  }
  fail(error: GatewayError): string {
    return this.#encoder.fail(error)
  }
  cancel(): void {
    this.#exchange.abort()
  }
}
