import { formatLossComment } from '../../formats/reply-losses.ts'
import type { ReplyContext } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type Charge, zeroCharge } from '../../ledger/charge.ts'
import { GatewayError, isBlock } from '../../platform/errors/gateway-error.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import { explainError } from '../explain/metadata.ts'
import {
  ClientDisconnectedError,
  ShutdownError,
  UpstreamError,
  unexpectedReplyError,
} from '../failures/errors.ts'
import { toClientError, toFailedAttempt } from '../failures/failure.ts'
import { ClientTexts } from '../reply/client-texts.ts'
import { sliceChunk, sliceLength } from '../reply/http-response.ts'
import type { ReplyStream } from '../reply/reply-stream.ts'
import type { Outcome } from '../request/attempts.ts'
import type { Admitted, InferenceRequest } from '../request/inference-request.ts'
import { ignoreOutcome } from '../settle/observe.ts'
import { buildCheckpoint, buildCost, computeCharge, endedWithError, settleOnce } from '../settle/settle.ts'
import { addFileAnnotations } from '../settle/settle-failure.ts'
import type { OpenedStream } from './dispatch-stream.ts'
import { drainUpstream, releaseConnection } from './drain.ts'

/**
 * The body of a streamed response, after its status 200 was sent. While `opening` is pending the client is sent
 * heartbeats. The request is settled exactly once, however it ends.
 */
export async function* streamBody(
  gateway: Gateway,
  { format }: InferenceRequest,
  session: StreamSession,
  opening: OpenedStream | Promise<OpenedStream>,
): AsyncGenerator<string> {
  const { heartbeat } = format.replyCodec
  try {
    if (opening instanceof Promise) yield heartbeat
    const opened = opening instanceof Promise ? yield* withHeartbeats(gateway, heartbeat, opening) : opening
    const texts = session.begin(opened, heartbeat)
    const { refusal } = opened
    let text: string | null = takePending(opened)
    while (text !== null) {
      if (text.length <= sliceLength) yield text
      else yield* sliceChunk(text)
      if (refusal) throw refusal
      text = await texts.next()
    }
    // With heartbeats, because settlement waits while the database is unavailable.
    yield* sliceChunk(yield* withHeartbeats(gateway, heartbeat, session.end()))
  } catch (error) {
    const text = await session.fail(error)
    if (text !== null) yield text
  } finally {
    // Without an end if the client disconnected during a write.
    await session.abandon()
  }
}

/** The text is not held in memory until the stream ends. */
function takePending(reply: OpenedStream): string {
  const { pending } = reply
  reply.pending = ''
  return pending
}

/** Awaits a promise and sends heartbeats until it resolves. */
async function* withHeartbeats<T>(
  { timer, settings }: Gateway,
  heartbeat: string,
  promise: Promise<T>,
): AsyncGenerator<string, T> {
  for (;;) {
    const result = await timer.wait(promise, settings.limits.heartbeat)
    if (result !== timedOut) return result
    yield heartbeat
  }
}

/** A streamed reply until it ends, fails or is abandoned. */
export class StreamSession implements EventListenerObject {
  readonly #gateway: Gateway
  readonly #request: Admitted<InferenceRequest>
  #opened: OpenedStream | null = null
  #texts: ClientTexts | null = null
  /** The characters of the reply at its last checkpoint. */
  #recordedCharacters = 0
  /** Whether the end or an error was sent to the client. */
  #ended = false

  constructor(gateway: Gateway, request: Admitted<InferenceRequest>) {
    this.#gateway = gateway
    this.#request = request
    // The body is never read if the client disconnects before it starts.
    request.httpRequest.signal.addEventListener('abort', this, { once: true })
  }

  handleEvent(): void {
    void this.abandon()
  }

  /** The first content has arrived: from here on a disconnect is charged. */
  open(opened: OpenedStream): void {
    this.#opened = opened
    this.#request.attempts.firstTokenMs = performance.now() - this.#request.startedAt
  }

  /** The texts for the client that follow those already received. */
  begin({ stream, idle }: OpenedStream, heartbeat: string): ClientTexts {
    this.#texts = new ClientTexts(this.#gateway, heartbeat, stream, idle)
    if (!this.#request.httpRequest.signal.aborted) this.#gateway.ledger.trackProgress(this.#request.id, this)
    return this.#texts
  }

  buildCheckpoint(): string | null {
    const summary = this.#opened?.stream.summary
    if (!summary || summary.characters === this.#recordedCharacters) return null
    this.#recordedCharacters = summary.characters
    return buildCheckpoint(this.#gateway, this.#request, summary)
  }

  /** The last text, once the charge is durable. A reply that is not complete was interrupted. */
  async end(): Promise<string> {
    const stream = this.#opened?.stream
    if (stream?.summary.failure) throw new UpstreamError(stream.summary.failure)
    if (!stream?.summary.isComplete) throw unexpectedReplyError('The connection to the provider was lost.')
    if (endedWithError(stream.summary))
      throw unexpectedReplyError('The provider ended its reply with an error.')
    const charge = this.#computeCharge()
    const cost = buildCost(charge, this.#request.attempts.candidate, this.#request.work)
    const end = await stream.end(charge.usage, cost)
    const text = this.#lossComment(stream) + end
    // From here on a disconnect changes nothing: the reply is complete.
    this.#ended = true
    const extraStatements = stream.finalBody ? await this.#request.store?.(stream.finalBody) : undefined
    const isGone = this.#request.httpRequest.signal.aborted
    const outcome = this.#buildOutcome(isGone ? 'cancelled' : 'completed', charge, null)
    await settleOnce(this.#gateway, this.#request, outcome, extraStatements)
    void releaseConnection(this.#gateway, this.#request, stream)
    return text
  }

  /** Formats the losses as a comment, which only server-sent events have. */
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
    const stream = this.#opened?.stream
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
    this.#texts?.close()
    if (this.#ended) return
    const stream = this.#opened?.stream
    // The provider of the turn in progress.
    const { candidate } = this.#request.attempts
    if (stream && candidate?.endpoint.provider.billsAbandoned) {
      await this.#gateway.upstreams.drainLimiter.tryRun(() =>
        drainUpstream(this.#gateway, this.#request, stream),
      )
      void releaseConnection(this.#gateway, this.#request, stream)
    } else stream?.cancel()
    const outcome = this.#buildOutcome('cancelled', this.#computeCharge(), null)
    await settleOnce(this.#gateway, this.#request, outcome).catch(() => undefined)
  }

  /** Whether the gateway or the client ended a reply that the provider had begun. */
  #isUpstreamBlameless(error: unknown): boolean {
    if (error instanceof ShutdownError || isBlock(error)) return true
    const isLate = error instanceof UpstreamError && error.failure.kind === 'timeout'
    return (isLate || this.#texts?.isClientSlow === true) && this.#opened?.stream.summary.failure === null
  }

  /** The tokens of an interrupted reply are free, because the client was sent an error. */
  #computeCharge(isInterrupted = false): Charge {
    if (!this.#opened) return this.#request.work?.bill.close() ?? zeroCharge
    return computeCharge(this.#gateway, this.#request, this.#opened.stream.summary, isInterrupted)
  }

  #buildOutcome(status: Outcome['status'], charge: Charge, error: GatewayError | null): Outcome {
    const summary = this.#opened?.stream.summary ?? null
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
    logOf(this.#gateway, this.#request).error({ err: error }, 'stream failed')
    return new GatewayError('internal', { cause: error })
  }

  /** Creates the context of an error before any upstream has replied. */
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
