import type { Gateway } from '../../app/gateway.ts'
import { checkBounds } from '../reply/reply-stream.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { RoutingPlan } from '../routing/plan.ts'
import type { AcceptedAttempt, Attempt, RequestTrace } from '../settlement/trace.ts'
import { buildUpstreamCall } from './build-call.ts'
import { decodeReply, processEvents, readJsonBody, type WholeReply } from './decode-reply.ts'
import { dispatchText } from './dispatch-text.ts'
import { drainAbandoned } from './drain-abandoned.ts'
import type { UpstreamExchange } from './exchange.ts'
import { send } from './send.ts'
import { collectEvents, simulateReply } from './simulation.ts'

/** The reply of the first candidate that completes one. */
export function dispatchWhole(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
  trace: RequestTrace,
): Promise<AcceptedAttempt<WholeReply>> {
  const { limits } = gateway.settings
  return dispatchText(gateway, request, plan, trace, async (exchange, attempt) => {
    exchange.setTimeout(limits.whole_reply)
    const replying = fetchReply(gateway, exchange, attempt, request)
    if (attempt.candidate.endpoint.provider.billsAbandoned)
      drainAbandoned(gateway, request, exchange, replying)
    const reply = await replying
    exchange.release()
    return reply
  })
}

async function fetchReply(
  gateway: Gateway,
  exchange: UpstreamExchange,
  { candidate, translation, pipeline }: Attempt,
  request: InferenceRequest,
): Promise<WholeReply> {
  const { replyLimits } = request.format.replyCodec
  const simulated = simulateReply(gateway, request, candidate, exchange)
  if (simulated) {
    return processEvents(await collectEvents(gateway, exchange, simulated), null, pipeline, replyLimits)
  }
  const response = await send(gateway, exchange, buildUpstreamCall(request, translation))
  const body = await readJsonBody(exchange, response)
  const limits = translation.isPassThrough && !pipeline.hasTransforms ? null : replyLimits
  const reply = await decodeReply(candidate, translation, body, pipeline, limits)
  checkBounds(reply.summary, { parts: gateway.settings.limits.reply_parts, characters: response.maxBytes })
  return reply
}
