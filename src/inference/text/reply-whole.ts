import { collectReply } from '../../formats/call/event.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Charge } from '../../ledger/charge.ts'
import { type GatewayError, isBlock } from '../../platform/errors/gateway-error.ts'
import { unexpectedReplyError } from '../failures/errors.ts'
import { toClientError, toFailedAttempt } from '../failures/failure.ts'
import { augmentRequest } from '../plugins/apply.ts'
import { buildReplyHeaders, listDroppedFields, toJsonResponse } from '../reply/http-response.ts'
import type { Outcome } from '../request/attempts.ts'
import type { Admitted, InferenceRequest, RequestState } from '../request/inference-request.ts'
import { buildCost, computeCharge, endedWithError, settleOnce } from '../settle/settle.ts'
import { settleFailure } from '../settle/settle-failure.ts'
import { resumeTools } from '../tool-loop/resume.ts'
import type { AcceptedAttempt } from '../upstream/attempt.ts'
import type { WholeReply } from '../upstream/decode-reply.ts'
import { dispatchWhole } from './dispatch-whole.ts'

/** Responds with a whole reply, after its charge is durable. */
export async function replyWhole(gateway: Gateway, request: Admitted<InferenceRequest>): Promise<Response> {
  try {
    if (request.work) {
      await augmentRequest(gateway, request)
      await resumeTools(gateway, request)
    }
    const attempt = await dispatchWhole(gateway, request)
    const { summary, refusal } = attempt.reply
    if (refusal) {
      const charge = computeCharge(gateway, request, summary, !isBlock(refusal))
      await settleOnce(gateway, request, {
        status: 'failed',
        charge,
        summary,
        error: refusal,
        firstTokenMs: null,
      })
      throw refusal
    }
    const isInterrupted = summary.failure !== null || endedWithError(summary)
    if (isInterrupted && !request.format.replyCodec.canEncodeFailure)
      throw interruptedReplyError(request, attempt)
    const charge = computeCharge(gateway, request, summary, isInterrupted)
    const body = encodeBody(request, attempt, charge)
    const status = isInterrupted ? 'failed' : request.httpRequest.signal.aborted ? 'cancelled' : 'completed'
    const outcome: Outcome = { status, charge, summary, error: null, firstTokenMs: null }
    await settleOnce(gateway, request, outcome, await request.store?.(body))
    const headers = buildReplyHeaders(request, [...listDroppedFields(request), ...summary.losses])
    return toJsonResponse(gateway, body, headers, attempt.reply.length)
  } catch (error) {
    throw await settleFailure(gateway, request, error)
  }
}

/** Builds the error for clients whose format cannot express an interrupted reply. */
function interruptedReplyError(
  { attempts: { failed, lastStartedAt } }: RequestState,
  { candidate, reply, translation }: AcceptedAttempt<WholeReply>,
): GatewayError {
  const failure =
    reply.summary.failure ?? unexpectedReplyError('The provider ended its reply with an error.').failure
  return toClientError([
    ...failed,
    toFailedAttempt(candidate, failure, lastStartedAt, translation.isPassThrough),
  ])
}

function encodeBody(
  request: InferenceRequest,
  { translation, context, reply }: AcceptedAttempt<WholeReply>,
  charge: Charge,
) {
  // Of the last turn.
  const cost = buildCost(charge, request.attempts.candidate, request.work)
  if (translation.isPassThrough && reply.body)
    return translation.wireFormat.passthrough.passReply(reply.body, context, cost, charge.usage)
  return request.format.replyCodec.encodeReply(
    { ...collectReply(reply.events), usage: charge.usage },
    context,
    cost,
  )
}
