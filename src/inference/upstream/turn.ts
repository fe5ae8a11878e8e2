import type { ReplyEvent } from '../../formats/call/event.ts'
import { newReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type LoggedRequest, logOf } from '../../platform/logging/request-log.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import { timeoutError, unexpectedReplyError } from '../failures/errors.ts'
import { checkBounds, usageGraceMs } from '../reply/reply-stream.ts'
import { recordEvent } from '../reply/summary.ts'
import type { Candidate } from '../routing/candidate.ts'
import { assertFinished } from './decode-reply.ts'
import type { UpstreamExchange } from './exchange.ts'
import type { EventSource } from './reply-events.ts'

/** One reply of a model within a request: its events, and what they add up to. */
export class Turn {
  readonly candidate: Candidate
  readonly summary = newReplySummary()
  readonly #gateway: Gateway
  readonly #request: LoggedRequest
  readonly #exchange: UpstreamExchange
  readonly #events: EventSource
  readonly #buffered: ReplyEvent[] = []
  #eventCount = 0
  #isEnded = false
  /** Milliseconds of the monotonic clock; null until there is content. */
  firstContentAt: number | null = null

  constructor(
    gateway: Gateway,
    request: LoggedRequest,
    exchange: UpstreamExchange,
    candidate: Candidate,
    events: EventSource,
  ) {
    this.#gateway = gateway
    this.#request = request
    this.#exchange = exchange
    this.candidate = candidate
    this.#events = events
  }

  /** The next event; null after the last one. */
  async next(): Promise<ReplyEvent | null> {
    return this.#buffered.shift() ?? this.#read()
  }

  /** Reads the whole reply. One without content must at least be complete. */
  async bufferAll(): Promise<void> {
    for (let event = await this.#read(); event; event = await this.#read()) this.#buffered.push(event)
    if (!this.summary.hasContent) assertFinished(this.summary)
  }

  /** Reads until there is content, within the time limits: until then another candidate can be tried. */
  async bufferUntilContent(): Promise<void> {
    const { first_byte, first_content, idle, total } = this.#exchange.limits
    const deadline = Math.min(this.#gateway.timer.now() + first_content, this.#exchange.contentDueAt)
    for (let timeout = first_byte; !this.summary.hasContent; timeout = idle) {
      const remaining = Math.max(0, deadline - this.#gateway.timer.now())
      const event = await this.#gateway.timer.wait(this.#read(), Math.min(timeout, remaining))
      if (event === timedOut) throw timeoutError()
      this.#exchange.setTimeout(total)
      if (event) this.#buffered.push(event)
      if (this.summary.failure || (!event && !this.summary.hasContent)) assertFinished(this.summary)
      if (!event) return
    }
  }

  /**
   * Ends the turn after its last event. A complete reply is read to the last byte, so that the connection can be
   * reused. The exchange of the first turn lasts as long as the request.
   */
  async release(isFirst: boolean): Promise<void> {
    if (this.summary.isComplete) await this.#drain()
    if (!isFirst) this.#exchange.abort()
  }

  async #drain(): Promise<void> {
    const deadline = this.#gateway.timer.now() + usageGraceMs
    try {
      for (let left = usageGraceMs; !this.#isEnded && left > 0; left = deadline - this.#gateway.timer.now()) {
        const read = await this.#gateway.timer.wait(Promise.resolve(this.#events.next()), left)
        this.#isEnded = read === timedOut || read.done === true
      }
    } catch (err) {
      logOf(this.#gateway, this.#request).debug({ err }, 'a reply failed after its end')
    }
  }

  async #read(): Promise<ReplyEvent | null> {
    const { timeSlicer, timer } = this.#gateway
    const { isComplete, usage } = this.summary
    // After its end only the usage can follow.
    if (this.#isEnded || (isComplete && usage)) return null
    try {
      for (let wait = timeSlicer.pendingYield; wait; wait = timeSlicer.pendingYield) await wait
      const reading = Promise.resolve(timeSlicer.runCounted(() => this.#events.next()))
      const read = isComplete ? await timer.wait(reading, usageGraceMs) : await reading
      if (read === timedOut) return null
      if (read.done) {
        this.#isEnded = true
        return null
      }
      this.#record(read.value)
      return read.value
    } catch (error) {
      // A connection lost after the reply was complete does not matter.
      if (this.summary.isComplete && !this.summary.failure) return null
      throw this.#exchange.toError(error)
    }
  }

  #record(event: ReplyEvent): void {
    const { reply_events, reply_parts, reply_bytes } = this.#gateway.settings.limits
    if (++this.#eventCount > reply_events)
      throw unexpectedReplyError(`The reply from the provider has more than ${reply_events} events.`)
    recordEvent(this.summary, event, null)
    checkBounds(this.summary, { parts: reply_parts, characters: reply_bytes })
    if (this.summary.hasContent) this.firstContentAt ??= performance.now()
  }
}
