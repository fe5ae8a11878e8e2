import type { ReplyEvent } from '../../formats/call/event.ts'
import type { Usage, UsageCost } from '../../formats/call/usage.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { freeBytes } from '../../platform/files/free-bytes.ts'
import { SseError, type SseFrame } from '../../platform/http/sse.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { TimeSlicer } from '../../platform/time/time-slicer.ts'
import { tooManyPartsError, unexpectedReplyError } from '../failures/errors.ts'
import type { RedactedFrames } from '../failures/redact-secrets.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { EventEncoder } from './event-encoder.ts'
import { type Awaitable, joinTexts } from './join-texts.ts'
import type { ReplyRelay } from './relay.ts'

/** A streamed reply, encoded for the client. */
export interface ReplyStream {
  /** The next text for the client, possibly empty; null when the upstream has no more. */
  next(): Promise<string | null>
  /** The rest of the text for the client, when the upstream is not read any further. */
  close(): Awaitable<string>
  readonly summary: ReplySummary
  end(usage: Usage, cost: UsageCost): Awaitable<string>
  fail(error: GatewayError): string
  readonly finalBody: JsonObject | null
  /** Closes the upstream. */
  cancel(): void
}

/** Milliseconds to wait for the usage after the end of a reply; nothing else can follow. */
export const usageGraceMs = 1000

/** Whether the reply is complete and its usage was reported. */
export function isFinished({ summary }: ReplyStream): boolean {
  return summary.isComplete && summary.usage !== null
}

/** Limits of a reply; beyond them it fails. */
export interface ReplyBounds {
  /** Bytes of a stream, before it is decoded. */
  bytes: number
  events: number
  parts: number
  /** Characters of the content: some formats repeat all of it at the end. */
  characters: number
}

export interface StreamLimits {
  timeSlicer: TimeSlicer
  bounds: ReplyBounds
}

/** Throws if the reply exceeds its limits. */
export function checkBounds(
  { partCount, characters }: ReplySummary,
  bounds: Pick<ReplyBounds, 'parts' | 'characters'>,
): void {
  if (partCount > bounds.parts) throw tooManyPartsError(bounds.parts)
  if (characters > bounds.characters) throw unexpectedReplyError('The reply from the provider is too large.')
}

/** Larger chunks are decoded in slices, so that a slow client does not hold several copies in memory. */
const maxSliceBytes = 16 * 1024

/** A stream from an upstream's response body. */
export class UpstreamStream implements ReplyStream {
  readonly #exchange: UpstreamExchange
  readonly #body: { read(): Promise<{ done: boolean; value?: Uint8Array }> }
  readonly #frames: RedactedFrames
  readonly #relay: ReplyRelay
  /** Shared by concurrent readers; null while nothing is read. */
  #pendingRead: Promise<string | null> | null = null
  #isReading = false
  #passing: Promise<string> | null = null
  /** A long chunk, decoded up to the position. */
  #received: Uint8Array | null = null
  #position = 0
  #ended = false
  readonly #timeSlicer: TimeSlicer
  readonly #bounds: ReplyBounds
  #bytes = 0
  #events = 0

  constructor(
    response: Response,
    relay: ReplyRelay,
    exchange: UpstreamExchange,
    frames: RedactedFrames,
    { timeSlicer, bounds }: StreamLimits,
  ) {
    if (!response.body) throw unexpectedReplyError('The provider sent a response without a body.')
    this.#body = response.body.getReader()
    this.#relay = relay
    this.#exchange = exchange
    this.#frames = frames
    this.#timeSlicer = timeSlicer
    this.#bounds = bounds
  }

  get summary(): ReplySummary {
    return this.#relay.summary
  }
  get finalBody(): JsonObject | null {
    return this.#relay.finalBody
  }

  /** Concurrent calls share one read, so that a drain can start while the last read of the client is pending. */
  next(): Promise<string | null> {
    if (this.#pendingRead) return this.#pendingRead
    const reading = this.#read()
    // It may have ended without a wait.
    if (this.#isReading) this.#pendingRead = reading
    return reading
  }

  async #read(): Promise<string | null> {
    if (this.#ended) return null
    this.#isReading = true
    try {
      const bytes = this.#takeSlice() ?? this.#receive((await this.#body.read()).value)
      if (!bytes) return this.close()
      for (let turn = this.#timeSlicer.pendingYield; turn; turn = this.#timeSlicer.pendingYield) await turn
      // It may have been closed while waiting.
      if (this.#ended) return null
      const startedAt = performance.now()
      const text = this.#push(bytes)
      this.#timeSlicer.recordWork(startedAt)
      return typeof text === 'string' ? text : await this.#awaitPassing(text)
    } catch (error) {
      // A connection lost after the reply was complete does not matter; a partial frame before that is discarded.
      if (this.summary.isComplete && !(error instanceof GatewayError)) {
        const text = await this.close()
        if (!this.summary.failure) return text
      }
      this.#ended = true
      throw error instanceof SseError ? unexpectedReplyError(error.message) : this.#exchange.toError(error)
    } finally {
      this.#isReading = false
      this.#pendingRead = null
    }
  }

  #receive(chunk: Uint8Array | undefined): Uint8Array | undefined {
    if (!chunk || chunk.length <= maxSliceBytes) return chunk
    this.#received = chunk
    return this.#takeSlice()
  }

  /** The next part of a long chunk, which is freed with its last part. */
  #takeSlice(): Uint8Array | undefined {
    const chunk = this.#received
    if (!chunk) return undefined
    const start = this.#position
    this.#position += maxSliceBytes
    if (this.#position < chunk.length) return chunk.subarray(start, this.#position)
    this.#received = null
    this.#position = 0
    const last = chunk.slice(start)
    freeBytes(chunk)
    return last
  }

  /** Remembers the text that transforms are working on, for `close`. */
  async #awaitPassing(text: Promise<string>): Promise<string> {
    this.#passing = text
    try {
      return await text
    } finally {
      this.#passing = null
    }
  }

  close(): Awaitable<string> {
    if (this.#ended) return ''
    this.#ended = true
    const stages: (() => Awaitable<string>)[] = [
      () => this.#passing ?? '',
      () => this.#pass(this.#frames.end()),
      () => this.#relay.close?.() ?? '',
    ]
    return joinTexts(stages, (stage) => stage())
  }

  #push(bytes: Uint8Array): Awaitable<string> {
    this.#bytes += bytes.length
    if (this.#bytes > this.#bounds.bytes)
      throw unexpectedReplyError('The reply from the provider is too large.')
    const received = this.#frames.pushTo(this.#relay, bytes)
    if (typeof received !== 'string') return this.#pass(received)
    this.#countEvents(1)
    return this.#checkBounds(received)
  }

  #countEvents(count: number): void {
    this.#events += count
    const { events } = this.#bounds
    if (this.#events > events)
      throw unexpectedReplyError(`The reply from the provider has more than ${events} events.`)
  }

  #pass(frames: SseFrame[]): Awaitable<string> {
    this.#countEvents(frames.length)
    const text = joinTexts(frames, (frame) => this.#relay.pass(frame))
    if (typeof text === 'string') return this.#checkBounds(text)
    return text.then((joined) => this.#checkBounds(joined))
  }

  #checkBounds(text: string): string {
    checkBounds(this.summary, this.#bounds)
    return text
  }

  end(usage: Usage, cost: UsageCost): Awaitable<string> {
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

/** A stream of decoded events: of a provider in this process, or of an upstream that sent a whole reply. */
export class EventStream implements ReplyStream {
  readonly #events: AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>
  readonly #encoder: EventEncoder
  readonly #exchange: UpstreamExchange
  readonly #timeSlicer: TimeSlicer
  readonly #bounds: ReplyBounds

  constructor(
    events: AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>,
    encoder: EventEncoder,
    exchange: UpstreamExchange,
    { timeSlicer, bounds }: StreamLimits,
  ) {
    this.#events = events
    this.#encoder = encoder
    this.#exchange = exchange
    this.#timeSlicer = timeSlicer
    this.#bounds = bounds
  }

  get summary(): ReplySummary {
    return this.#encoder.summary
  }
  get finalBody(): JsonObject | null {
    return this.#encoder.finalBody
  }

  async next(): Promise<string | null> {
    try {
      for (let turn = this.#timeSlicer.pendingYield; turn; turn = this.#timeSlicer.pendingYield) await turn
      const { done, value } = await this.#timeSlicer.runCounted(() => this.#events.next())
      if (done) return null
      return this.#timeSlicer.runCounted(() => {
        this.#encoder.record(value)
        checkBounds(this.summary, this.#bounds)
        return this.#encoder.write(value)
      })
    } catch (error) {
      throw this.#exchange.toError(error)
    }
  }

  close(): string {
    return ''
  }
  end(usage: Usage, cost: UsageCost): Awaitable<string> {
    return this.#encoder.end(usage, cost)
  }
  fail(error: GatewayError): string {
    return this.#encoder.fail(error)
  }
  cancel(): void {
    this.#exchange.abort()
  }
}
