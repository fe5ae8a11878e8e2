import type { Gateway } from '../../gateway/gateway.ts'
import { sourceSilences } from '../../platform/http/response-traits.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import type { Admission } from '../hold/admit.ts'
import { augmentRequest } from '../plugins/apply.ts'
import { buildReplyHeaders, buildStreamHeaders, listDroppedFields } from '../reply/http-response.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { settleOnce } from '../settle/settle.ts'
import { settleFailure } from '../settle/settle-failure.ts'
import { type AcceptedAttempt, createTrace, type RequestTrace } from '../settle/trace.ts'
import { resumeTools } from '../tool-loop/resume.ts'
import { dispatchStream, type OpenedStream } from './dispatch-stream.ts'
import { StreamSession, streamBody } from './stream-session.ts'

/** A failure before the first heartbeat is due keeps its status; after that the status is 200 and failures are events. */
export async function replyStreamed(
  gateway: Gateway,
  request: InferenceRequest,
  admission: Admission,
): Promise<Response> {
  const trace = createTrace(request.startedAt, admission.plan)
  const settle = settleOnce(gateway, request, admission, trace)
  request.spans?.beginStream()
  const opening = openStream(gateway, request, admission, trace)
  const session = new StreamSession(gateway, request, admission, trace, settle)
  try {
    session.needsHeartbeat =
      (await gateway.timer.wait(opening, gateway.settings.limits.heartbeat)) === timedOut
  } catch (error) {
    throw await settleFailure(request, trace, settle, error)
  }
  const response = new Response(streamBody(gateway, request, session, opening), {
    headers: {
      ...buildStreamHeaders(request.format),
      ...buildReplyHeaders(request, listDroppedFields(trace)),
    },
  })
  sourceSilences.set(response, 2 * gateway.settings.limits.heartbeat)
  return response
}

async function openStream(
  gateway: Gateway,
  request: InferenceRequest,
  admission: Admission,
  trace: RequestTrace,
): Promise<AcceptedAttempt<OpenedStream>> {
  if (request.work) {
    await augmentRequest(gateway, request, admission, trace)
    await resumeTools(gateway, request, admission)
  }
  return dispatchStream(gateway, request, admission, trace)
}
