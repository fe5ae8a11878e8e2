import { collectReply } from '../../formats/call/event.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Charge } from '../../ledger/charge.ts'
import { type GatewayError, isBlock } from '../../platform/errors/gateway-error.ts'
import { unexpectedReplyError } from '../failures/errors.ts'
import { toClientError, toFailedAttempt } from '../failures/failure.ts'
import type { Admission } from '../hold/admit.ts'
import { augmentRequest } from '../plugins/apply.ts'
import { buildReplyHeaders, listDroppedFields, toJsonResponse } from '../reply/http-response.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { buildCost, computeCharge, endedWithError, settleOnce } from '../settle/settle.ts'
import { settleFailure } from '../settle/settle-failure.ts'
import { type AcceptedAttempt, createTrace, type Outcome, type RequestTrace } from '../settle/trace.ts'
import { resumeTools } from '../tool-loop/resume.ts'
import type { WholeReply } from '../upstream/decode-reply.ts'
import { dispatchWhole } from './dispatch-whole.ts'

/** Responds with a whole reply, after its charge is durable. */
export async function replyWhole(
  gateway: Gateway,
  request: InferenceRequest,
  admission: Admission,
): Promise<Response> {
  const trace = createTrace(request.startedAt, admission.plan)
  const settle = settleOnce(gateway, request, admission, trace)
  try {
    if (request.work) {
      await augmentRequest(gateway, request, admission, trace)
      await resumeTools(gateway, request, admission)
    }
    const attempt = await dispatchWhole(gateway, request, admission, trace)
    const { summary, refusal } = attempt.reply
    // Of the last turn.
    const candidate = trace.candidate ?? attempt.candidate
    if (refusal) {
      const charge = computeCharge(gateway, request, admission, candidate, summary, !isBlock(refusal))
      await settle({ status: 'failed', charge, summary, error: refusal, firstTokenMs: null })
      throw refusal
    }
    const isInterrupted = summary.failure !== null || endedWithError(summary)
    if (isInterrupted && !request.format.replyCodec.canEncodeFailure)
      throw interruptedReplyError(trace, attempt)
    const charge = computeCharge(gateway, request, admission, candidate, summary, isInterrupted)
    const body = encodeBody(request, attempt, charge, candidate)
    const status = isInterrupted ? 'failed' : request.httpRequest.signal.aborted ? 'cancelled' : 'completed'
    const outcome: Outcome = { status, charge, summary, error: null, firstTokenMs: null }
    await settle(outcome, await request.store?.(body))
    const headers = buildReplyHeaders(request, [...listDroppedFields(trace), ...summary.losses])
    return toJsonResponse(gateway, body, headers, attempt.reply.length)
  } catch (error) {
    throw await settleFailure(request, trace, settle, error)
  }
}

/** For clients whose format cannot express an interrupted reply. */
function interruptedReplyError(
  { attempts, attemptStartedAt }: RequestTrace,
  { candidate, reply, translation }: AcceptedAttempt<WholeReply>,
): GatewayError {
  const failure =
    reply.summary.failure ?? unexpectedReplyError('The provider ended its reply with an error.').failure
  return toClientError([
    ...attempts,
    toFailedAttempt(candidate, failure, attemptStartedAt, translation.isPassThrough),
  ])
}

function encodeBody(
  request: InferenceRequest,
  { translation, context, reply }: AcceptedAttempt<WholeReply>,
  charge: Charge,
  candidate: Candidate,
) {
  const cost = buildCost(charge, candidate, request.work)
  const { wireFormat, isPassThrough } = translation
  if (isPassThrough && reply.body)
    return wireFormat.passthrough.passReply(reply.body, context, cost, charge.usage)
  return request.format.replyCodec.encodeReply(
    { ...collectReply(reply.events), usage: charge.usage },
    context,
    cost,
  )
}
