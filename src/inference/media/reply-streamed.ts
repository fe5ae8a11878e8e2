import type { MediaReplyContext, MediaWireFormat } from '../../formats/media.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError, isBlock } from '../../platform/errors/gateway-error.ts'
import { ClientWait, clientWaits } from '../../platform/http/response-traits.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import { explainError } from '../explain/metadata.ts'
import { idleTimeoutError, ShutdownError, UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import { toClientError, toFailedAttempt } from '../failures/failure.ts'
import type { MediaFilter } from '../guard/media-filter.ts'
import { buildReplyHeaders, listDroppedFields, sliceChunk } from '../reply/http-response.ts'
import type { Outcome } from '../request/attempts.ts'
import type { Admitted } from '../request/inference-request.ts'
import { ignoreOutcome } from '../settle/observe.ts'
import { computeCharge, settleOnce } from '../settle/settle.ts'
import { settleFailure } from '../settle/settle-failure.ts'
import { type AcceptedMedia, dispatchMedia } from './dispatch.ts'
import { buildMediaContext } from './reply-whole.ts'
import type { MediaRequest, MediaTask } from './task.ts'

type Chunk = string | Uint8Array

/** A reply that reaches the client as it arrives: audio, or events. */
export interface MediaStream {
  contentType: string
  /** Content received before the reply was accepted; sent first. */
  first: Chunk
  /** Resolves with the next chunk; null at the end of the upstream's reply. */
  next(): Promise<Chunk | null>
  /** Applies filters to the text of the reply; absent if it has none. */
  filter?(filter: MediaFilter): void
  /** A summary that is up to date after every chunk. The reply is billed as soon as it has a finish reason. */
  readonly summary: ReplySummary
  /** Words received so far, for the content log. */
  readonly text?: string
  /** Encodes the end of the reply, once its charge is durable; empty if the format has none. */
  end(context: MediaReplyContext): Chunk
  /** Encodes the error as an event; null in formats that cannot express one: the connection is closed. */
  fail(error: GatewayError): Chunk | null
  /** Closes the connection to the upstream. */
  cancel(): void
}

/** Responds with a streamed reply, which is settled exactly once, however it ends. */
export async function streamMedia<Call, D extends MediaWireFormat<Call>, Stream extends MediaStream>(
  gateway: Gateway,
  request: Admitted<MediaRequest<Call>>,
  task: MediaTask<Call, D, Stream>,
): Promise<Response> {
  request.spans?.beginStream()
  try {
    const accepted = await dispatchMedia(gateway, request, task)
    request.attempts.firstTokenMs = performance.now() - request.startedAt
    if (request.replyFilter) accepted.reply.filter?.(request.replyFilter)
    const session = new MediaSession(gateway, request, accepted)
    const response = new Response(session.chunks(), {
      headers: {
        'content-type': accepted.reply.contentType,
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        ...buildReplyHeaders(request, listDroppedFields(request)),
      },
    })
    clientWaits.set(response, session.clientWait)
    return response
  } catch (error) {
    throw await settleFailure(gateway, request, error)
  }
}

/** Takes the first chunk, so that it is not held in memory until the stream ends. */
function takeFirst(stream: MediaStream): Chunk {
  const { first } = stream
  stream.first = ''
  return first
}

class MediaSession<Call> {
  readonly #gateway: Gateway
  readonly #request: Admitted<MediaRequest<Call>>
  readonly #accepted: AcceptedMedia<MediaStream>
  /** Whether the client read so slowly that the provider may have timed out. */
  #isClientSlow = false
  readonly clientWait = new ClientWait()

  constructor(gateway: Gateway, request: Admitted<MediaRequest<Call>>, accepted: AcceptedMedia<MediaStream>) {
    this.#gateway = gateway
    this.#request = request
    this.#accepted = accepted
    const { signal } = request.httpRequest
    // The body is never read if the client disconnects before it starts.
    if (signal.aborted) void this.#leave()
    else signal.addEventListener('abort', () => void this.#leave(), { once: true })
  }

  async *chunks(): AsyncGenerator<Chunk> {
    const stream = this.#accepted.reply
    try {
      for (let chunk: Chunk | null = takeFirst(stream); chunk !== null; chunk = await this.#next()) {
        if (chunk.length === 0) continue
        const { settings, timer } = this.#gateway
        const sentAt = timer.now()
        this.clientWait.begin()
        yield* sliceChunk(chunk)
        this.clientWait.end()
        if (timer.now() - sentAt > settings.limits.heartbeat) this.#isClientSlow = true
      }
      const last = await this.#end()
      this.clientWait.begin()
      if (last.length > 0) yield* sliceChunk(last)
    } catch (error) {
      const event = await this.#fail(error)
      if (event === null) throw error
      if (event.length > 0) yield event
    } finally {
      // Without an end if the client disconnected during a write.
      await this.#leave()
    }
  }

  async #leave(): Promise<void> {
    await this.#abandon()
    this.#accepted.reply.cancel()
  }

  async #next(): Promise<Chunk | null> {
    const { reply, idle } = this.#accepted
    const chunk = await this.#gateway.timer.wait(reply.next(), idle.ms)
    if (chunk !== timedOut) return chunk
    const error = idleTimeoutError()
    if (!idle.isRequested) reply.summary.failure = error.failure
    throw error
  }

  async #end(): Promise<Chunk> {
    const { candidate, reply } = this.#accepted
    const { failure, isComplete } = reply.summary
    if (failure) throw new UpstreamError(failure)
    if (!isComplete) throw unexpectedReplyError('The connection to the provider was lost.')
    const charge = this.#computeCharge(false)
    await settleOnce(this.#gateway, this.#request, this.#buildOutcome('completed', charge, null))
    return reply.end(buildMediaContext(this.#request, candidate, charge))
  }

  /** A reply that the provider interrupted is free. Empty for a client that disconnected. */
  async #fail(error: unknown): Promise<Chunk | null> {
    if (this.#request.httpRequest.signal.aborted) return ''
    const clientError = this.#toClientError(error)
    explainError(this.#request, clientError)
    const isUpstreamBlameless = this.#isUpstreamBlameless(error)
    if (isUpstreamBlameless) ignoreOutcome(this.#gateway, this.#request)
    const outcome = this.#buildOutcome('failed', this.#computeCharge(!isUpstreamBlameless), clientError)
    // A failed settlement is logged; the client is sent the first error.
    await settleOnce(this.#gateway, this.#request, outcome).catch(() => undefined)
    return this.#accepted.reply.fail(clientError)
  }

  /** Whether the gateway or the client ended a reply that the provider had begun. */
  #isUpstreamBlameless(error: unknown): boolean {
    if (error instanceof ShutdownError || isBlock(error)) return true
    const isLate = error instanceof UpstreamError && error.failure.kind === 'timeout'
    return (isLate || this.#isClientSlow) && this.#accepted.reply.summary.failure === null
  }

  #toClientError(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error
    if (!(error instanceof UpstreamError)) {
      logOf(this.#gateway, this.#request).error({ err: error }, 'stream failed')
      return new GatewayError('internal', { cause: error })
    }
    const { failed, lastStartedAt } = this.#request.attempts
    const last = toFailedAttempt(this.#accepted.candidate, error.failure, lastStartedAt, false)
    return toClientError([...failed, last])
  }

  /** The client disconnected; without effect on a reply that has ended. */
  async #abandon(): Promise<void> {
    const outcome = this.#buildOutcome('cancelled', this.#computeCharge(false), null)
    await settleOnce(this.#gateway, this.#request, outcome).catch(() => undefined)
  }

  #computeCharge(isInterrupted: boolean) {
    return computeCharge(this.#gateway, this.#request, this.#accepted.reply.summary, isInterrupted)
  }

  #buildOutcome(status: Outcome['status'], charge: Outcome['charge'], error: GatewayError | null): Outcome {
    const { summary, text = '' } = this.#accepted.reply
    const { transcript, firstTokenMs } = this.#request.attempts
    transcript?.setText(text)
    return { status, charge, summary, error, firstTokenMs }
  }
}
