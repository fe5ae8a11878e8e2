import type { Gateway } from '../../app/gateway.ts'
import type { ReplyContext } from '../../dialects/dialect.ts'
import { formatLossComment } from '../../dialects/reply-losses.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { type Charge, zeroCharge } from '../../ledger/charge.ts'
import { timedOut, type Waiter } from '../../lib/coarse-timer.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { explainError } from '../routing/metadata.ts'
import type { Admission } from '../settlement/admit.ts'
import { ignoreOutcome } from '../settlement/observe.ts'
import {
  buildCheckpoint,
  buildCost,
  computeCharge,
  endedWithError,
  type SettleFn,
} from '../settlement/settle.ts'
import type { AcceptedAttempt, Outcome, RequestTrace } from '../settlement/trace.ts'
import type { StreamedReply } from '../upstream/dispatch-stream.ts'
import {
  ClientGoneError,
  idleTimeoutError,
  StoppingError,
  UpstreamError,
  unexpectedReplyError,
} from '../upstream/errors.ts'
import { recordFailure, toClientError } from '../upstream/failure.ts'
import { drainUpstream, isFinished, releaseConnection } from './drain.ts'
import type { ReplyStream } from './reply-stream.ts'
import { StreamTimers, usageGraceMs } from './stream-timers.ts'

/**
 * The body of a streamed answer, from the moment the client is told 200. `opening` may still be under way:
 * until it is done the client gets signs of life. Whatever happens, the request is settled exactly once.
 */
export async function* streamBody(
  gateway: Gateway,
  request: InferenceRequest,
  run: StreamSession,
  opening: Promise<AcceptedAttempt<StreamedReply>>,
): AsyncGenerator<string> {
  const watch = gateway.timer.createWaiter()
  try {
    if (run.needsHeartbeat) yield request.format.replyCodec.heartbeat
    const attempt = yield* withHeartbeats(gateway, request, opening)
    run.begin(attempt)
    yield attempt.reply.pending
    yield* relayUpstream(gateway, request, attempt.reply.stream, watch, run)
    // With signs of life: a database that is away keeps the end waiting.
    yield yield* withHeartbeats(gateway, request, run.end())
  } catch (error) {
    const text = await run.fail(error)
    if (text !== null) yield text
  } finally {
    watch.close()
    // Reached without an end when the client left while a text was being written to it.
    await run.abandon()
  }
}

/** What `opening` gives, with heartbeats as long as it takes. */
async function* withHeartbeats<T>(
  gateway: Gateway,
  request: InferenceRequest,
  opening: Promise<T>,
): AsyncGenerator<string, T> {
  for (;;) {
    const done = await gateway.timer.wait(opening, gateway.settings.limits.heartbeat)
    if (done !== timedOut) return done
    yield request.format.replyCodec.heartbeat
  }
}

/** The upstream's text as it comes; a long silence is a failure, a shorter one a heartbeat. */
async function* relayUpstream(
  gateway: Gateway,
  request: InferenceRequest,
  flow: ReplyStream,
  watch: Waiter,
  run: StreamSession,
): AsyncGenerator<string> {
  const quietness = new StreamTimers(gateway, flow)
  let next: Promise<string | null> | null = null
  while (!isFinished(flow)) {
    if (flow.summary.failure) throw new UpstreamError(flow.summary.failure)
    next ??= flow.next()
    const text = await watch.wait(next, flow.summary.isComplete ? usageGraceMs : quietness.waitMs)
    if (text === null) return
    quietness.update()
    if (quietness.isGraceOver || (text === timedOut && flow.summary.isComplete)) return yield flow.close()
    if (text !== timedOut) next = null
    const nothing = text === timedOut || text === ''
    if (!nothing || quietness.isHeartbeatDue) {
      yield nothing ? request.format.replyCodec.heartbeat : text
      if (quietness.recordSent() > gateway.settings.limits.heartbeat) run.isClientSlow = true
    }
    if (quietness.isIdle) yield endStalled(flow)
  }
}

/** What follows from what was received of a reply that does not go on: its end, if it needs no more, or a failure. */
function endStalled(flow: ReplyStream): string {
  const rest = flow.close()
  if (!flow.summary.isComplete) flow.summary.failure ??= idleTimeoutError().failure
  return rest
}

/** One streamed reply, to whichever end it comes. */
export class StreamSession {
  readonly #gateway: Gateway
  readonly #request: InferenceRequest
  readonly #admission: Admission
  readonly #trace: RequestTrace
  readonly #settle: SettleFn
  #attempt: AcceptedAttempt<StreamedReply> | null = null
  /** It has come to an end that was told to the client. */
  #ended = false
  /** The client has already waited as long as it may without a sign of life. */
  needsHeartbeat = false
  /** The client took so long to read that the provider may have lost patience. */
  isClientSlow = false

  constructor(
    gateway: Gateway,
    request: InferenceRequest,
    admission: Admission,
    trace: RequestTrace,
    close: SettleFn,
  ) {
    this.#gateway = gateway
    this.#request = request
    this.#admission = admission
    this.#trace = trace
    this.#settle = close
    // The body may never be asked for, when the client is gone before it begins.
    request.httpRequest.signal.addEventListener('abort', () => void this.abandon(), { once: true })
  }

  begin(attempt: AcceptedAttempt<StreamedReply>): void {
    this.#attempt = attempt
    this.#trace.firstTokenMs = performance.now() - this.#request.startedAt
    if (this.#request.httpRequest.signal.aborted) return
    let noted = 0
    this.#gateway.ledger.trackProgress(this.#request.id, () => {
      const { summary } = attempt.reply.stream
      if (summary.characters === noted) return null
      noted = summary.characters
      return buildCheckpoint(this.#gateway, this.#trace, attempt)
    })
  }

  /** The last text, once the charge is durable. A reply that was not marked as complete broke off. */
  async end(): Promise<string> {
    const flow = this.#attempt?.reply.stream
    if (flow?.summary.failure) throw new UpstreamError(flow.summary.failure)
    if (!flow?.summary.isComplete) throw unexpectedReplyError('The connection to the provider broke off.')
    if (endedWithError(flow.summary))
      throw unexpectedReplyError('The provider ended its reply with an error.')
    const charge = this.#computeCharge()
    const text = this.#lossComment(flow) + flow.end(charge.usage, buildCost(charge, this.#attempt?.candidate))
    // From here on a client that leaves changes nothing: all of its reply is there.
    this.#ended = true
    const keep = flow.final ? await this.#request.store?.(flow.final) : undefined
    const left = this.#request.httpRequest.signal.aborted
    await this.#settle(this.#buildOutcome(left ? 'cancelled' : 'completed', charge, null), keep)
    void releaseConnection(this.#gateway, flow)
    return text
  }

  /** Formats that are not server-sent events have no comments. */
  #lossComment({ summary }: ReplyStream): string {
    return this.#request.format.replyCodec.streamContentType === undefined
      ? formatLossComment(summary.losses)
      : ''
  }

  /** The error in the client's format; null when there is no client any more. */
  async fail(error: unknown): Promise<string | null> {
    if (error instanceof ClientGoneError || this.#request.httpRequest.signal.aborted) return null
    this.#ended = true
    const shown = this.#toClientError(error)
    explainError(this.#request, this.#trace.plan, this.#trace, shown)
    const flow = this.#attempt?.reply.stream
    flow?.cancel()
    const isCut = this.#isUpstreamBlameless(error)
    if (isCut) ignoreOutcome(this.#gateway, this.#trace)
    // It is in the log; the client is told of the first error, not of the second.
    const charge = this.#computeCharge(!isCut)
    await this.#settle(this.#buildOutcome('failed', charge, shown)).catch(() => undefined)
    return (flow ?? this.#request.format.replyCodec.createWriter(this.#emptyContext())).fail(shown)
  }

  /** The client left, unless the reply is already over. What was produced until then is charged. */
  async abandon(): Promise<void> {
    if (this.#ended) return
    const attempt = this.#attempt
    if (attempt?.candidate.endpoint.provider.billsAbandoned) {
      await this.#gateway.drainLimiter.tryRun(() => drainUpstream(this.#gateway, attempt.reply.stream))
      void releaseConnection(this.#gateway, attempt.reply.stream)
    } else attempt?.reply.stream.cancel()
    await this.#settle(this.#buildOutcome('cancelled', this.#computeCharge(), null)).catch(() => undefined)
  }

  /** It was we or the client who took too long, after it had begun: the provider did its part. */
  #isUpstreamBlameless(error: unknown): boolean {
    if (error instanceof StoppingError) return true
    const isLate = error instanceof UpstreamError && error.failure.kind === 'timeout'
    return (isLate || this.isClientSlow) && this.#attempt?.reply.stream.summary.failure === null
  }

  /** One that broke off costs no tokens: its client was given an error. */
  #computeCharge(brokeOff = false): Charge {
    if (!this.#attempt) return zeroCharge
    const { candidate, reply } = this.#attempt
    return computeCharge(
      this.#gateway,
      this.#request,
      this.#admission,
      candidate,
      reply.stream.summary,
      brokeOff,
    )
  }

  #buildOutcome(status: Outcome['status'], charge: Charge, error: GatewayError | null): Outcome {
    const summary = this.#attempt?.reply.stream.summary ?? null
    return { status, charge, summary, error, firstTokenMs: this.#trace.firstTokenMs }
  }

  #toClientError(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error
    const { candidate, attempts, attemptAt, translation } = this.#trace
    if (error instanceof UpstreamError && candidate) {
      const isSameFormat = translation?.isPassThrough ?? false
      return toClientError([...attempts, recordFailure(candidate, error.failure, attemptAt, isSameFormat)])
    }
    this.#gateway.log.error({ err: error, id: this.#request.id }, 'stream failed')
    return new GatewayError('internal', { cause: error })
  }

  /** Nobody has answered yet: there is only what was asked. */
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
