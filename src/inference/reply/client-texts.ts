import type { Gateway } from '../../gateway/gateway.ts'
import type { CoarseTimer, Ticking } from '../../platform/time/coarse-timer.ts'
import { idleTimeoutError, UpstreamError } from '../failures/errors.ts'
import { isFinished, type ReplyStream, usageGraceMs } from './reply-stream.ts'

/** The longest time without progress of a reply. */
export interface IdleLimit {
  ms: number
  /** Whether the request has set it: then it is not the provider that has failed, and the reply is charged. */
  isRequested: boolean
}

/**
 * The texts of a stream as they arrive, with heartbeats while there are none; fails after the idle timeout. The time
 * since the client was last sent anything and the time since the reply last made progress differ: comments, pings and
 * empty deltas are no progress, and those that are not relayed do not keep the client connected.
 */
export class ClientTexts implements Ticking {
  readonly #stream: ReplyStream
  readonly #timer: CoarseTimer
  readonly #heartbeatMs: number
  readonly #idle: IdleLimit
  readonly #heartbeat: string
  /** Settle the promise of `next`; null while the client reads. */
  #resolve: ((text: string | null) => void) | null = null
  #reject: ((error: unknown) => void) | null = null
  /** The read in progress, which outlasts a heartbeat: a text that arrives meanwhile is sent next. */
  #reading: Promise<string | null> | null = null
  #isAwaited = false
  #isEnded = false
  /** Thrown after the last text. */
  #error: UpstreamError | null = null
  #resolvedAt: number
  #sentAt: number
  #progressAt: number
  #progress: number
  #completeAt: number | null = null
  /** Whether the client read so slowly that the provider may have timed out. */
  isClientSlow = false

  /** The caller must close it. */
  constructor(
    { settings, timer }: Pick<Gateway, 'settings' | 'timer'>,
    heartbeat: string,
    stream: ReplyStream,
    idle: IdleLimit = { ms: settings.limits.idle, isRequested: false },
  ) {
    this.#stream = stream
    this.#timer = timer
    this.#heartbeatMs = settings.limits.heartbeat
    this.#idle = idle
    this.#heartbeat = heartbeat
    this.#resolvedAt = this.#sentAt = this.#progressAt = timer.now()
    this.#progress = stream.summary.contentEvents
    timer.add(this)
  }

  /** Resolves with the next text for the client; null at the end. Called when the client has read the last text. */
  next(): Promise<string | null> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#sentAt = this.#timer.now()
      // The time the client took to read is no idle time of the provider.
      const took = this.#sentAt - this.#resolvedAt
      this.#progressAt += took
      if (took > this.#heartbeatMs) this.isClientSlow = true
      this.#read(this.#sentAt)
    })
  }

  tick(now: number): void {
    if (!this.#resolve || this.#isEnded) return
    this.#recordProgress(now)
    if (this.#isGraceOver(now)) void this.#end()
    else if (this.#isHeartbeatDue(now)) this.#settle(this.#heartbeat, now)
    else if (this.#isIdle(now)) void this.#end()
  }

  close(): void {
    this.#timer.remove(this)
  }

  #read(now: number): void {
    const { failure } = this.#stream.summary
    // The last event may be known before its text is: filters scan long texts on another thread.
    const hasEnded = this.#isEnded || (!this.#reading && isFinished(this.#stream))
    const hasArrived = this.#reading !== null && !this.#isAwaited
    if (failure) this.#fail(new UpstreamError(failure))
    else if (this.#error) this.#fail(this.#error)
    else if (hasEnded) this.#settle(null, now)
    else if (!hasArrived && this.#isIdle(now)) void this.#end()
    else {
      this.#reading ??= this.#stream.next()
      if (!this.#isAwaited) this.#reading.then(this.#onText, this.#onError)
      this.#isAwaited = true
    }
  }

  readonly #onText = (text: string | null): void => {
    this.#isAwaited = false
    if (!this.#resolve || this.#isEnded) return
    this.#reading = null
    const now = this.#timer.now()
    this.#recordProgress(now)
    if (this.#isGraceOver(now)) void this.#end()
    else if (text !== '') this.#settle(text, now)
    else if (this.#isHeartbeatDue(now)) this.#settle(this.#heartbeat, now)
    else this.#read(now)
  }

  readonly #onError = (error: unknown): void => {
    this.#isAwaited = false
    if (this.#resolve && !this.#isEnded) this.#fail(error)
  }

  /** Ends a stream that makes no progress: complete if everything was received, otherwise with a timeout. */
  async #end(): Promise<void> {
    this.#isEnded = true
    const { summary } = this.#stream
    try {
      const text = await this.#stream.close()
      if (!summary.isComplete && this.#idle.isRequested) this.#error = idleTimeoutError()
      else if (!summary.isComplete) summary.failure ??= idleTimeoutError().failure
      this.#settle(text, this.#timer.now())
    } catch (error) {
      this.#fail(error)
    }
  }

  #settle(text: string | null, now: number): void {
    const resolve = this.#resolve
    this.#resolve = this.#reject = null
    this.#resolvedAt = now
    resolve?.(text)
  }

  #fail(error: unknown): void {
    const reject = this.#reject
    this.#resolve = this.#reject = null
    reject?.(error)
  }

  #recordProgress(now: number): void {
    const { contentEvents, isComplete, isBetweenTurns } = this.#stream.summary
    this.#completeAt = isComplete ? (this.#completeAt ?? now) : null
    // Tools and the next turn have time limits of their own.
    if (contentEvents === this.#progress && !isBetweenTurns) return
    this.#progress = contentEvents
    this.#progressAt = now
  }

  #isHeartbeatDue(now: number): boolean {
    return now - this.#sentAt >= this.#heartbeatMs
  }

  #isIdle(now: number): boolean {
    return now - this.#progressAt >= this.#idle.ms
  }

  /** Whether the time to wait for the usage of a complete reply is over. */
  #isGraceOver(now: number): boolean {
    return this.#completeAt !== null && now - this.#completeAt >= usageGraceMs
  }
}
