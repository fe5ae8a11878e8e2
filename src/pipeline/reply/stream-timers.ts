import type { Gateway } from '../../app/gateway.ts'
import type { ReplyStream } from './reply-stream.ts'

/** After the end of a reply only its usage can follow: this long it is waited for. */
export const usageGraceMs = 1000

/**
 * How long a client was sent nothing, and how long the reply made no progress. The two differ: comments, pings and
 * empty deltas of a provider are no progress, and what is not passed on does not keep the client's connection alive.
 */
export class StreamTimers {
  readonly #stream: ReplyStream
  readonly #heartbeat: number
  readonly #idle: number
  #now = performance.now()
  #sentAt = this.#now
  #progressAt = this.#now
  #progress: number
  #completeAt: number | null = null

  constructor({ settings }: Gateway, flow: ReplyStream) {
    this.#stream = flow
    this.#heartbeat = settings.limits.heartbeat
    this.#idle = settings.limits.idle
    this.#progress = flow.summary.contentEvents
  }

  /** Until there is something to do though nothing comes. */
  get waitMs(): number {
    return Math.max(0, Math.min(this.#sentAt + this.#heartbeat, this.#progressAt + this.#idle) - this.#now)
  }

  get isHeartbeatDue(): boolean {
    return this.#now - this.#sentAt >= this.#heartbeat
  }

  /** Whether the provider has sent nothing that matters for longer than it may. */
  get isIdle(): boolean {
    return this.#now - this.#progressAt >= this.#idle
  }

  /** Whether the usage of a reply that is complete was waited for long enough, whatever came instead. */
  get isGraceOver(): boolean {
    return this.#completeAt !== null && this.#now - this.#completeAt >= usageGraceMs
  }

  /** Looks at the clock, and at what came. */
  update(): void {
    this.#now = performance.now()
    const { contentEvents, isComplete } = this.#stream.summary
    this.#completeAt = isComplete ? (this.#completeAt ?? this.#now) : null
    if (contentEvents === this.#progress) return
    this.#progress = contentEvents
    this.#progressAt = this.#now
  }

  /** How long the client took for what it was sent, which is not held against the provider. */
  recordSent(): number {
    this.#sentAt = performance.now()
    const took = this.#sentAt - this.#now
    this.#progressAt += took
    this.#now = this.#sentAt
    return took
  }
}
