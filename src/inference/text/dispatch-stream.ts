import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import { timeoutError, unexpectedReplyError } from '../failures/errors.ts'
import { RedactedFrames } from '../failures/redact-secrets.ts'
import type { IdleLimit } from '../reply/client-texts.ts'
import { EventEncoder } from '../reply/event-encoder.ts'
import { createRelay } from '../reply/relay.ts'
import { EventStream, type ReplyStream, type StreamLimits, UpstreamStream } from '../reply/reply-stream.ts'
import { describeTranslation } from '../request/attempts.ts'
import type { Admitted, InferenceRequest, Routed } from '../request/inference-request.ts'
import { createLoop, type ToolLoop } from '../tool-loop/loop.ts'
import type { Attempt } from '../upstream/attempt.ts'
import { buildUpstreamCall } from '../upstream/build-call.ts'
import { assertFinished, decodeEvents, receiveReply } from '../upstream/decode-reply.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { assertNotRefused } from '../upstream/fall-back.ts'
import { createFrameReader } from '../upstream/frame-reader.ts'
import { openEvents } from '../upstream/reply-events.ts'
import { send } from '../upstream/send.ts'
import { simulateReply } from '../upstream/simulation.ts'
import { Turn } from '../upstream/turn.ts'
import { dispatchText } from './dispatch-text.ts'
import { drainUpstream } from './drain.ts'

/** A stream that has begun. It does not refer to the request as it was sent, which may be long. */
export interface OpenedStream {
  stream: ReplyStream
  /** Buffered until the first content; sent first. */
  pending: string
  /** The error with which a transform has already refused the reply; null if none has. */
  refusal: GatewayError | null
  /** The longest time between two events with content, and whether the request has set it. */
  idle: IdleLimit
}

/** The stream of the first candidate whose reply has begun. */
export function dispatchStream(gateway: Gateway, request: Admitted<InferenceRequest>): Promise<OpenedStream> {
  const execute = async (exchange: UpstreamExchange, attempt: Attempt, state: Routed<InferenceRequest>) => {
    exchange.setTimeout(exchange.limits.first_byte)
    const loop = request.work ? createLoop({ gateway, request, exchange }) : null
    const stream = await openStream(gateway, exchange, attempt, request, loop)
    const buffered = await bufferUntilContent(gateway, exchange, stream, computeMaxPending(request))
    const { candidate, translation } = attempt
    if (!stream.summary.hasContent) assertNotRefused(request, candidate, stream.summary)
    if (candidate.endpoint.provider.billsAbandoned) exchange.outliveClient()
    state.attempts.translation = describeTranslation(translation)
    request.content.releaseText()
    const idle = { ms: exchange.limits.idle, isRequested: exchange.isIdleRequested }
    return { stream, ...buffered, idle }
  }
  return dispatchText(gateway, request, execute, async ({ stream }, isBilled) => {
    if (isBilled) await drainUpstream(gateway, request, stream)
    stream.cancel()
    return stream.summary
  })
}

async function openStream(
  gateway: Gateway,
  exchange: UpstreamExchange,
  attempt: Attempt,
  request: InferenceRequest,
  loop: ToolLoop | null,
): Promise<ReplyStream> {
  const { candidate, translation, context, pipeline } = attempt
  const { replyCodec } = request.format
  const createEncoder = () =>
    new EventEncoder(replyCodec.createWriter(context), replyCodec.replyLimits, pipeline)
  if (loop) {
    const turn = new Turn(
      gateway,
      request,
      exchange,
      candidate,
      await openEvents(gateway, exchange, request, attempt),
    )
    const limits = buildStreamLimits(gateway, gateway.settings.limits.reply_bytes)
    return new EventStream(loop.run(turn), createEncoder(), exchange, limits)
  }
  const simulated = simulateReply(gateway, request, candidate, exchange)
  if (simulated) {
    const limits = buildStreamLimits(gateway, gateway.settings.limits.reply_bytes)
    return new EventStream(simulated, createEncoder(), exchange, limits)
  }
  const upstream = await send(gateway, exchange, buildUpstreamCall(request, translation))
  const { response, secrets, maxValues } = upstream
  const limits = buildStreamLimits(gateway, upstream.maxBytes)
  if (response.headers.get('content-type')?.startsWith('application/json')) {
    const { body } = await receiveReply(gateway, exchange, translation, upstream)
    const events = decodeEvents(candidate, translation, body)
    return new EventStream(events.values(), createEncoder(), exchange, limits)
  }
  const frames = new RedactedFrames(createFrameReader(response, translation), secrets, maxValues)
  return new UpstreamStream(response, createRelay(request, attempt), exchange, frames, limits)
}

function buildStreamLimits({ settings, timeSlicer }: Gateway, maxBytes: number): StreamLimits {
  const { reply_bytes, reply_events, reply_parts } = settings.limits
  const characters = Math.min(maxBytes, maxCharacters)
  return {
    timeSlicer,
    bounds: { bytes: reply_bytes, events: reply_events, parts: reply_parts, characters },
  }
}

/** Some formats repeat the whole text in the last event, which is written at once. */
const maxCharacters = 32 * 1024 * 1024

/**
 * Buffers the events before the first content, so that failover stays invisible to the client. Any event resets the
 * idle timeout, but only content meets the deadline for the first content.
 */
async function bufferUntilContent(
  gateway: Gateway,
  exchange: UpstreamExchange,
  stream: ReplyStream,
  maxPending: number,
): Promise<Pick<OpenedStream, 'pending' | 'refusal'>> {
  const { first_byte, first_content, idle, total } = exchange.limits
  const deadline = Math.min(gateway.timer.now() + first_content, exchange.contentDueAt)
  let pending = ''
  for (let timeout = first_byte; ; timeout = idle) {
    const remaining = deadline - gateway.timer.now()
    const text =
      remaining > 0 ? await gateway.timer.wait(readNext(stream), Math.min(timeout, remaining)) : timedOut
    if (text === timedOut) throw timeoutError()
    // It has begun, so that no other candidate is tried.
    if (text instanceof GatewayError) return { pending, refusal: text }
    // From the first byte on the idle timeout applies.
    exchange.setTimeout(total)
    if (text !== null) pending += text
    const { hasContent, failure } = stream.summary
    if (hasContent) break
    if (failure || text === null) assertFinished(stream.summary)
    if (text === null) break
    if (pending.length > maxPending)
      throw unexpectedReplyError('The provider sent too much data before its first content.')
  }
  return { pending, refusal: null }
}

/** A transform refuses the reply with an error for the client. */
function readNext(stream: ReplyStream): Promise<string | null | GatewayError> {
  return stream.next().catch((error: unknown) => {
    if (error instanceof GatewayError) return error
    throw error
  })
}

/** Characters buffered besides the request, which some formats repeat in the first events of the reply. */
const basePendingCharacters = 1024 * 1024

function computeMaxPending({ content }: InferenceRequest): number {
  return basePendingCharacters + 4 * content.received.characters
}
