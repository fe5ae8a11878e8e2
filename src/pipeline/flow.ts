import type { ReplyEvent } from '../call/event.ts'
import type { Bill, Usage } from '../call/usage.ts'
import { nothingSeen, type Relay, type ReplyWriter, type Seen } from '../dialects/dialect.ts'
import type { ReplyLimits } from '../dialects/reply-losses.ts'
import type { GatewayError } from '../errors.ts'
import type { JsonObject } from '../lib/loose.ts'
import { type FrameReader, SseError } from '../lib/sse.ts'
import type { Turns } from '../lib/turns.ts'
import { note } from './translate.ts'
import type { Exchange } from './upstream.ts'
import { unexpected } from './upstream-error.ts'

/** A streamed reply on its way to the client, wherever it comes from. */
export interface Flow {
  /** The next text for the client, possibly empty; null when the upstream has no more. */
  next(): Promise<string | null>
  /** What still follows when the upstream is not waited for any longer. */
  close(): string
  readonly seen: Seen
  end(usage: Usage, bill: Bill): string
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

export interface FlowLimits {
  turns: Turns
  bounds: ReplyBounds
}

/** A failure when the reply has more than it may have. */
export function checkBounds(
  { parts, characters }: Seen,
  bounds: Pick<ReplyBounds, 'parts' | 'characters'>,
): void {
  if (parts > bounds.parts) throw unexpected(`The reply of the provider has more than ${bounds.parts} parts.`)
  if (characters > bounds.characters) throw unexpected('The reply of the provider is too large.')
}

/** More is not turned into text at once: for a client that reads slowly it would lie in memory several times over. */
const sliceBytes = 16 * 1024

/** From an upstream's bytes. */
export class WireFlow implements Flow {
  readonly #exchange: Exchange
  readonly #body: { read(): Promise<{ done: boolean; value?: Uint8Array }> }
  readonly #frames: FrameReader
  readonly #relay: Relay
  #awaited: Promise<string | null> | null = null
  /** What was received and not looked at yet. */
  #arrived: Uint8Array | null = null
  #over = false
  readonly #turns: Turns
  readonly #bounds: ReplyBounds
  #bytes = 0
  #events = 0

  constructor(
    response: Response,
    relay: Relay,
    exchange: Exchange,
    frames: FrameReader,
    { turns, bounds }: FlowLimits,
  ) {
    if (!response.body) throw unexpected('The provider answered without a body.')
    this.#body = response.body.getReader()
    this.#relay = relay
    this.#exchange = exchange
    this.#frames = frames
    this.#turns = turns
    this.#bounds = bounds
  }

  get seen(): Seen {
    return this.#relay.seen
  }
  get final(): JsonObject | null {
    return this.#relay.final
  }

  /** Who asks while a text is awaited gets the same one: a reader that left and one that reads on do not collide. */
  next(): Promise<string | null> {
    this.#awaited ??= this.#read().finally(() => {
      this.#awaited = null
    })
    return this.#awaited
  }

  async #read(): Promise<string | null> {
    if (this.#over) return null
    try {
      const bytes = this.#arrived ?? (await this.#body.read()).value
      if (!bytes) return this.close()
      const isLong = bytes.length > sliceBytes
      this.#arrived = isLong ? bytes.subarray(sliceBytes) : null
      for (let turn = this.#turns.next; turn; turn = this.#turns.next) await turn
      // It may have been closed in the meantime.
      if (this.#over) return null
      const startedAt = performance.now()
      const text = this.#push(isLong ? bytes.subarray(0, sliceBytes) : bytes)
      this.#turns.count(startedAt)
      return text
    } catch (error) {
      // A connection that goes after the reply was complete takes nothing with it; before, half a frame says nothing.
      if (this.seen.complete) {
        const rest = this.close()
        if (!this.seen.failure) return rest
      }
      this.#over = true
      throw error instanceof SseError ? unexpected(error.message) : this.#exchange.explain(error)
    }
  }

  close(): string {
    if (this.#over) return ''
    this.#over = true
    return this.#pass(this.#frames.end()) + (this.#relay.close?.() ?? '')
  }

  #push(bytes: Uint8Array): string {
    this.#bytes += bytes.length
    if (this.#bytes > this.#bounds.bytes) throw unexpected('The reply of the provider is too large.')
    return this.#pass(this.#frames.push(bytes))
  }

  #pass(frames: ReturnType<FrameReader['push']>): string {
    this.#events += frames.length
    const { events } = this.#bounds
    if (this.#events > events) throw unexpected(`The reply of the provider has more than ${events} events.`)
    let text = ''
    for (const frame of frames) text += this.#relay.pass(frame)
    checkBounds(this.seen, this.#bounds)
    return text
  }

  end(usage: Usage, bill: Bill): string {
    return this.#relay.end(usage, bill)
  }
  fail(error: GatewayError): string {
    return this.#relay.fail(error)
  }
  cancel(): void {
    this.#over = true
    this.#exchange.abort()
  }
}

/** From events: of a provider inside this process, or of a reply that came whole although a stream was asked for. */
export class EventFlow implements Flow {
  readonly #events: AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>
  readonly #writer: ReplyWriter
  readonly #limits: ReplyLimits
  readonly #exchange: Exchange
  readonly #turns: Turns
  readonly #bounds: ReplyBounds
  readonly seen = nothingSeen()

  constructor(
    events: AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>,
    writer: ReplyWriter,
    limits: ReplyLimits,
    exchange: Exchange,
    { turns, bounds }: FlowLimits,
  ) {
    this.#events = events
    this.#writer = writer
    this.#limits = limits
    this.#exchange = exchange
    this.#turns = turns
    this.#bounds = bounds
  }

  get final(): JsonObject | null {
    return this.#writer.final
  }

  async next(): Promise<string | null> {
    try {
      for (let turn = this.#turns.next; turn; turn = this.#turns.next) await turn
      const { done, value } = await this.#turns.run(() => this.#events.next())
      if (done) return null
      return this.#turns.run(() => {
        note(this.seen, value, this.#limits)
        checkBounds(this.seen, this.#bounds)
        return this.#writer.write(value)
      })
    } catch (error) {
      throw this.#exchange.explain(error)
    }
  }

  close(): string {
    return ''
  }
  end(usage: Usage, bill: Bill): string {
    return this.#writer.end(usage, bill)
  }
  fail(error: GatewayError): string {
    return this.#writer.fail(error)
  }
  cancel(): void {
    this.#exchange.abort()
  }
}
