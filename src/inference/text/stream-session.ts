import { formatLossComment } from '../../formats/reply-losses.ts'
import type { ReplyContext } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type Charge, zeroCharge } from '../../ledger/charge.ts'
import { GatewayError, isBlock } from '../../platform/errors/gateway-error.ts'
import { timedOut, type Waiter } from '../../platform/time/coarse-timer.ts'
import { explainError } from '../explain/metadata.ts'
import {
  ClientDisconnectedError,
  idleTimeoutError,
  ShutdownError,
  UpstreamError,
  unexpectedReplyError,
} from '../failures/errors.ts'
import { toClientError, toFailedAttempt } from '../failures/failure.ts'
import { sliceChunk, sliceLength } from '../reply/http-response.ts'
import type { ReplyStream } from '../reply/reply-stream.ts'
import { StreamTimers, usageGraceMs } from '../reply/stream-timers.ts'
import type { Outcome } from '../request/attempts.ts'
import type { Admitted, InferenceRequest } from '../request/inference-request.ts'
import { ignoreOutcome } from '../settle/observe.ts'
import { buildCheckpoint, buildCost, computeCharge, endedWithError, settleOnce } from '../settle/settle.ts'
import { addFileAnnotations } from '../settle/settle-failure.ts'
import type { AcceptedAttempt } from '../upstream/attempt.ts'
import type { OpenedStream } from './dispatch-stream.ts'
import { drainUpstream, isFinished, releaseConnection } from './drain.ts'

/**
 * The body of a streamed response, after its status 200 was sent. While `opening` is pending the client is sent
 * heartbeats. The request is settled exactly once, however it ends.
 */
export async function* streamBody(
  gateway: Gateway,
  request: InferenceRequest,
  session: StreamSession,
  opening: Promise<AcceptedAttempt<OpenedStream>>,
): AsyncGenerator<string> {
  const waiter = gateway.timer.createWaiter()
  try {
    if (session.needsHeartbeat) yield request.format.replyCodec.heartbeat
    const attempt = yield* withHeartbeats(gateway, request, opening)
    session.begin(attempt)
    const { refusal, stream } = attempt.reply
    yield* takePending(attempt.reply)
    if (refusal) throw refusal
    const source = new ClientTexts(gateway, request, stream, waiter)
    for (let text = await source.next(); text !== null; text = await source.next()) {
      if (text.length <= sliceLength) yield text
      else yield* sliceChunk(text)
      if (source.recordSent() > gateway.settings.limits.heartbeat) session.isClientSlow = true
    }
    // With heartbeats, because settlement waits while the database is unavailable.
    yield* sliceChunk(yield* withHeartbeats(gateway, request, session.end()))
  } catch (error) {
    const text = await session.fail(error)
    if (text !== null) yield text
  } finally {
    waiter.close()
    // Without an end if the client disconnected during a write.
    await session.abandon()
  }
}

/** The text is not held in memory until the stream ends. */
function takePending(reply: OpenedStream): Iterable<string> {
  const { pending } = reply
  reply.pending = ''
  return sliceChunk(pending)
}

/** Awaits a promise and sends heartbeats until it resolves. */
async function* withHeartbeats<T>(
  gateway: Gateway,
  request: InferenceRequest,
  promise: Promise<T>,
): AsyncGenerator<string, T> {
  for (;;) {
    const result = await gateway.timer.wait(promise, gateway.settings.limits.heartbeat)
    if (result !== timedOut) return result
    yield request.format.replyCodec.heartbeat
  }
}

/** The texts of a stream as they arrive, with heartbeats while there are none; fails after the idle timeout. */
class ClientTexts {
  readonly #stream: ReplyStream
  readonly #waiter: Waiter
  readonly #timers: StreamTimers
  readonly #heartbeat: string
  /** Continues if it takes longer than a wait for it. */
  #reading: Promise<string | null> | null = null
  #isStalled = false
  #isEnded = false

  constructor(gateway: Gateway, { format }: InferenceRequest, stream: ReplyStream, waiter: Waiter) {
    this.#stream = stream
    this.#waiter = waiter
    this.#timers = new StreamTimers(gateway, stream)
    this.#heartbeat = format.replyCodec.heartbeat
  }

  /** What the client is sent next; null at the end. */
  async next(): Promise<string | null> {
    const stream = this.#stream
    const timers = this.#timers
    // The last event may be known before its text is: filters scan long texts on another thread.
    while (!this.#isEnded && (this.#reading || !isFinished(stream))) {
      if (stream.summary.failure) throw new UpstreamError(stream.summary.failure)
      if (timers.isIdle && !this.#isStalled) return this.#endStalled()
      this.#reading ??= stream.next()
      const waitMs = stream.summary.isComplete ? usageGraceMs : timers.waitMs
      const text = await this.#waiter.wait(this.#reading, waitMs)
      if (text === null) return null
      if (text !== timedOut) this.#reading = null
      timers.update()
      if (timers.isGraceOver || (text === timedOut && stream.summary.isComplete)) return this.#close()
      if (text !== timedOut && text !== '') return text
      if (timers.isHeartbeatDue) return this.#heartbeat
    }
    return null
  }

  /** Returns how long the client took to read. */
  recordSent(): number {
    return this.#timers.recordSent()
  }

  async #close(): Promise<string> {
    this.#isEnded = true
    return await this.#stream.close()
  }

  /** Ends a stream that makes no progress: complete if everything was received, otherwise with a timeout. */
  async #endStalled(): Promise<string> {
    this.#isStalled = true
    const text = await this.#stream.close()
    if (!this.#stream.summary.isComplete) this.#stream.summary.failure ??= idleTimeoutError().failure
    return text
  }
}

/** A streamed reply until it ends, fails or is abandoned. */
export class StreamSession {
  readonly #gateway: Gateway
  readonly #request: Admitted<InferenceRequest>
  #attempt: AcceptedAttempt<OpenedStream> | null = null
  /** The end or an error was sent to the client. */
  #ended = false
  /** A heartbeat is due before the stream has opened. */
  needsHeartbeat = false
  /** The client read so slowly that the provider may have timed out. */
  isClientSlow = false

  constructor(gateway: Gateway, request: Admitted<InferenceRequest>) {
    this.#gateway = gateway
    this.#request = request
    // The body is never read if the client disconnects before it starts.
    request.httpRequest.signal.addEventListener('abort', () => void this.abandon(), { once: true })
  }

  begin(attempt: AcceptedAttempt<OpenedStream>): void {
    this.#attempt = attempt
    this.#request.attempts.firstTokenMs = performance.now() - this.#request.startedAt
    if (this.#request.httpRequest.signal.aborted) return
    let recordedCharacters = 0
    this.#gateway.ledger.trackProgress(this.#request.id, () => {
      const { summary } = attempt.reply.stream
      if (summary.characters === recordedCharacters) return null
      recordedCharacters = summary.characters
      return buildCheckpoint(this.#gateway, this.#request, summary)
    })
  }

  /** The last text, once the charge is durable. A reply that is not complete was interrupted. */
  async end(): Promise<string> {
    const stream = this.#attempt?.reply.stream
    if (stream?.summary.failure) throw new UpstreamError(stream.summary.failure)
    if (!stream?.summary.isComplete) throw unexpectedReplyError('The connection to the provider was lost.')
    if (endedWithError(stream.summary))
      throw unexpectedReplyError('The provider ended its reply with an error.')
    const charge = this.#computeCharge()
    const end = await stream.end(charge.usage, this.#buildCost(charge))
    const text = this.#lossComment(stream) + end
    // From here on a disconnect changes nothing: the reply is complete.
    this.#ended = true
    const extraStatements = stream.finalBody ? await this.#request.store?.(stream.finalBody) : undefined
    const isGone = this.#request.httpRequest.signal.aborted
    const outcome = this.#buildOutcome(isGone ? 'cancelled' : 'completed', charge, null)
    await settleOnce(this.#gateway, this.#request, outcome, extraStatements)
    void releaseConnection(this.#gateway, stream)
    return text
  }

  /** Only server-sent events have comments. */
  #lossComment({ summary }: ReplyStream): string {
    return this.#request.format.replyCodec.streamContentType === undefined
      ? formatLossComment(summary.losses)
      : ''
  }

  /** The error in the client's format; null if the client disconnected. */
  async fail(error: unknown): Promise<string | null> {
    if (error instanceof ClientDisconnectedError || this.#request.httpRequest.signal.aborted) return null
    this.#ended = true
    const clientError = this.#toClientError(error)
    explainError(this.#request, clientError)
    addFileAnnotations(this.#request, clientError)
    const stream = this.#attempt?.reply.stream
    stream?.cancel()
    const isUpstreamBlameless = this.#isUpstreamBlameless(error)
    if (isUpstreamBlameless) ignoreOutcome(this.#gateway, this.#request)
    const charge = this.#computeCharge(!isUpstreamBlameless)
    // A failed settlement is logged; the client is sent the first error.
    const outcome = this.#buildOutcome('failed', charge, clientError)
    await settleOnce(this.#gateway, this.#request, outcome).catch(() => undefined)
    return (stream ?? this.#request.format.replyCodec.createWriter(this.#emptyContext())).fail(clientError)
  }

  /** The client disconnected before the end. What was generated until then is charged. */
  async abandon(): Promise<void> {
    if (this.#ended) return
    const attempt = this.#attempt
    // The provider of the turn in progress.
    const { candidate } = this.#request.attempts
    if (attempt && candidate?.endpoint.provider.billsAbandoned) {
      await this.#gateway.drainLimiter.tryRun(() => drainUpstream(this.#gateway, attempt.reply.stream))
      void releaseConnection(this.#gateway, attempt.reply.stream)
    } else attempt?.reply.stream.cancel()
    const outcome = this.#buildOutcome('cancelled', this.#computeCharge(), null)
    await settleOnce(this.#gateway, this.#request, outcome).catch(() => undefined)
  }

  /** The gateway or the client ended a reply that the provider had begun. */
  #isUpstreamBlameless(error: unknown): boolean {
    if (error instanceof ShutdownError || isBlock(error)) return true
    const isLate = error instanceof UpstreamError && error.failure.kind === 'timeout'
    return (isLate || this.isClientSlow) && this.#attempt?.reply.stream.summary.failure === null
  }

  /** The tokens of an interrupted reply are free, because the client was sent an error. */
  #computeCharge(isInterrupted = false): Charge {
    if (!this.#attempt) return this.#request.work?.bill.close() ?? zeroCharge
    const { summary } = this.#attempt.reply.stream
    return computeCharge(this.#gateway, this.#request, summary, isInterrupted)
  }

  #buildCost(charge: Charge) {
    return buildCost(charge, this.#request.attempts.candidate, this.#request.work)
  }

  #buildOutcome(status: Outcome['status'], charge: Charge, error: GatewayError | null): Outcome {
    const summary = this.#attempt?.reply.stream.summary ?? null
    return { status, charge, summary, error, firstTokenMs: this.#request.attempts.firstTokenMs }
  }

  #toClientError(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error
    const { candidate, failed, lastStartedAt, translation } = this.#request.attempts
    if (error instanceof UpstreamError && candidate) {
      const isPassThrough = translation?.isPassThrough ?? false
      return toClientError([
        ...failed,
        toFailedAttempt(candidate, error.failure, lastStartedAt, isPassThrough),
      ])
    }
    this.#gateway.log.error({ err: error, id: this.#request.id }, 'stream failed')
    return new GatewayError('internal', { cause: error })
  }

  /** For an error before any upstream has replied. */
  #emptyContext(): ReplyContext {
    const { id, at, content, options } = this.#request
    const model = options.models[0] ?? ''
    return {
      id,
      created: Math.floor(at / 1000),
      model,
      provider: '',
      tier: null,
      call: content.call,
      body: content.body,
    }
  }
}
