import type { Gateway } from '../../gateway/gateway.ts'
import type { CoarseTimer } from '../../platform/time/coarse-timer.ts'
import type { ReplyStream } from './reply-stream.ts'

/** How long the usage is waited for after the end of a reply; nothing else can follow. */
export const usageGraceMs = 1000

/**
 * Measures the time since the client was last sent anything, and since the reply last made progress. They differ:
 * comments, pings and empty deltas are no progress, and those that are not relayed do not keep the client connected.
 */
export class StreamTimers {
  readonly #stream: ReplyStream
  readonly #heartbeat: number
  readonly #idle: number
  readonly #timer: CoarseTimer
  #now: number
  #sentAt: number
  #progressAt: number
  #progress: number
  #completeAt: number | null = null

  constructor({ settings, timer }: Gateway, stream: ReplyStream) {
    this.#stream = stream
    this.#timer = timer
    this.#now = timer.now()
    this.#sentAt = this.#now
    this.#progressAt = this.#now
    this.#heartbeat = settings.limits.heartbeat
    this.#idle = settings.limits.idle
    this.#progress = stream.summary.contentEvents
  }

  /** Until the next heartbeat or the idle timeout. */
  get waitMs(): number {
    return Math.max(0, Math.min(this.#sentAt + this.#heartbeat, this.#progressAt + this.#idle) - this.#now)
  }

  get isHeartbeatDue(): boolean {
    return this.#now - this.#sentAt >= this.#heartbeat
  }

  /** Whether the reply has made no progress for the idle timeout. */
  get isIdle(): boolean {
    return this.#now - this.#progressAt >= this.#idle
  }

  /** Whether the time to wait for the usage of a complete reply is over. */
  get isGraceOver(): boolean {
    return this.#completeAt !== null && this.#now - this.#completeAt >= usageGraceMs
  }

  /** To be called after each read. */
  update(): void {
    this.#now = this.#timer.now()
    const { contentEvents, isComplete, isBetweenTurns } = this.#stream.summary
    this.#completeAt = isComplete ? (this.#completeAt ?? this.#now) : null
    // Tools and the next turn have time limits of their own.
    if (contentEvents === this.#progress && !isBetweenTurns) return
    this.#progress = contentEvents
    this.#progressAt = this.#now
  }

  /** Returns how long the client took to read, which does not count as idle time of the provider. */
  recordSent(): number {
    this.#sentAt = this.#timer.now()
    const took = this.#sentAt - this.#now
    this.#progressAt += took
    this.#now = this.#sentAt
    return took
  }
}
