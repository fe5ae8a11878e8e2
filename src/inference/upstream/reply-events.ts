import type { ReplyEvent } from '../../formats/call/event.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { FrameReader } from '../../platform/http/sse.ts'
import { SseError } from '../../platform/http/sse.ts'
import { unexpectedReplyError } from '../failures/errors.ts'
import { RedactedFrames } from '../failures/redact-secrets.ts'
import { markSignature } from '../reply/relay.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { Attempt } from './attempt.ts'
import { buildUpstreamCall } from './build-call.ts'
import { decodeEvents, receiveReply } from './decode-reply.ts'
import type { UpstreamExchange } from './exchange.ts'
import { createFrameReader } from './frame-reader.ts'
import { send } from './send.ts'
import { simulateReply } from './simulation.ts'

export type EventSource = AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>

/** Sends a request; the events of the reply, decoded as they arrive. */
export async function openEvents(
  gateway: Gateway,
  exchange: UpstreamExchange,
  request: InferenceRequest,
  attempt: Pick<Attempt, 'candidate' | 'translation'>,
): Promise<EventSource> {
  const { candidate, translation } = attempt
  const simulated = simulateReply(gateway, request, candidate, exchange)
  if (simulated) return simulated
  const upstream = await send(gateway, exchange, buildUpstreamCall(request, translation))
  const { response, secrets, maxValues } = upstream
  const isWhole = response.headers.get('content-type')?.startsWith('application/json')
  if (isWhole || !request.content.stream) {
    const { body } = await receiveReply(gateway, exchange, translation, upstream)
    return decodeEvents(candidate, translation, body).values()
  }
  const frames = new RedactedFrames(createFrameReader(response, translation), secrets, maxValues)
  return readEvents(gateway, response, frames, attempt)
}

async function* readEvents(
  { settings }: Gateway,
  { body }: Response,
  frames: FrameReader,
  { candidate, translation }: Pick<Attempt, 'candidate' | 'translation'>,
): AsyncGenerator<ReplyEvent> {
  if (!body) throw unexpectedReplyError('The provider sent a response without a body.')
  const { signatures } = candidate.endpoint.provider
  const reader = translation.wireFormat.upstream.createReader()
  let bytes = 0
  const decode = function* (received: ReturnType<FrameReader['push']>) {
    for (const frame of received) {
      for (const event of reader.read(frame)) {
        markSignature(signatures, event)
        yield event
      }
    }
  }
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > settings.limits.reply_bytes)
        throw unexpectedReplyError('The reply from the provider is too large.')
      yield* decode(frames.push(chunk))
    }
    yield* decode(frames.end())
    yield* reader.end()
  } catch (error) {
    throw error instanceof SseError ? unexpectedReplyError(error.message) : error
  }
}
