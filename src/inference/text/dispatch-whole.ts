import type { ReplyEvent } from '../../formats/call/event.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { checkBounds } from '../reply/reply-stream.ts'
import type { Admitted, InferenceRequest } from '../request/inference-request.ts'
import { createLoop, type ToolLoop } from '../tool-loop/loop.ts'
import type { AcceptedAttempt, Attempt } from '../upstream/attempt.ts'
import { buildUpstreamCall } from '../upstream/build-call.ts'
import { decodeReply, processEvents, receiveReply, type WholeReply } from '../upstream/decode-reply.ts'
import { drainAbandoned } from '../upstream/drain-abandoned.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { assertNotRefused } from '../upstream/fall-back.ts'
import { openEvents } from '../upstream/reply-events.ts'
import { send } from '../upstream/send.ts'
import { collectEvents, simulateReply } from '../upstream/simulation.ts'
import { Turn } from '../upstream/turn.ts'
import { dispatchText } from './dispatch-text.ts'

/** The reply of the first candidate that completes one. */
export function dispatchWhole(
  gateway: Gateway,
  request: Admitted<InferenceRequest>,
): Promise<AcceptedAttempt<WholeReply>> {
  const execute = async (exchange: UpstreamExchange, attempt: Attempt) => {
    exchange.setTimeout(exchange.limits.whole_reply)
    const loop = request.work ? createLoop({ gateway, request, exchange }) : null
    const replying = loop ? runLoop(loop, attempt) : fetchReply(gateway, exchange, attempt, request)
    if (attempt.candidate.endpoint.provider.billsAbandoned)
      drainAbandoned(gateway, request, exchange, replying)
    const reply = await replying
    if (!reply.summary.hasContent) assertNotRefused(request, attempt.candidate, reply.summary)
    exchange.release()
    return { ...attempt, reply }
  }
  return dispatchText(gateway, request, execute, async ({ reply }) => reply.summary)
}

/** The first turn has the time of any whole reply, the request that of a stream. */
async function runLoop(loop: ToolLoop, attempt: Attempt): Promise<WholeReply> {
  const { gateway, request, exchange } = loop.context
  const first = await openEvents(gateway, exchange, request, attempt)
  const turn = new Turn(gateway, request, exchange, attempt.candidate, first)
  await turn.bufferAll()
  exchange.setTimeout(exchange.limits.total)
  const events: ReplyEvent[] = []
  for await (const event of loop.run(turn)) events.push(event)
  return processEvents(events, null, attempt.pipeline, request.format.replyCodec.replyLimits)
}

async function fetchReply(
  gateway: Gateway,
  exchange: UpstreamExchange,
  attempt: Attempt,
  request: InferenceRequest,
): Promise<WholeReply> {
  const { candidate, translation, pipeline } = attempt
  const { replyLimits } = request.format.replyCodec
  const { inProcess } = candidate.endpoint.provider
  const simulated = inProcess ? simulateReply(gateway, request, candidate, exchange) : undefined
  if (simulated) {
    return processEvents(await collectEvents(gateway, exchange, simulated), null, pipeline, replyLimits)
  }
  const response = await send(gateway, exchange, buildUpstreamCall(request, translation))
  const received = await receiveReply(gateway, exchange, translation, response)
  const limits = translation.isPassThrough && !pipeline.hasTransforms ? null : replyLimits
  const reply = await decodeReply(attempt, received, limits)
  checkBounds(reply.summary, { parts: gateway.settings.limits.reply_parts, characters: response.maxBytes })
  return reply
}
