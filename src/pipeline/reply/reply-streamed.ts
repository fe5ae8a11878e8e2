import type { Gateway } from '../../app/gateway.ts'
import { timedOut } from '../../lib/coarse-timer.ts'
import { type CacheWriter, createSettle } from '../cache/response-cache.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { Admission } from '../settlement/admit.ts'
import { settleFailure } from '../settlement/settle-failure.ts'
import { createTrace } from '../settlement/trace.ts'
import { dispatchStream } from '../upstream/dispatch-stream.ts'
import { buildReplyHeaders, buildStreamHeaders, listDroppedFields } from './http-response.ts'
import { StreamSession, streamBody } from './stream-session.ts'

/** A failure before the first heartbeat is due keeps its status; after that the status is 200 and failures are events. */
export async function replyStreamed(
  gateway: Gateway,
  request: InferenceRequest,
  admission: Admission,
  cacheWriter: CacheWriter | null,
): Promise<Response> {
  const trace = createTrace(request.startedAt, admission.plan)
  const settle = createSettle(gateway, request, admission, trace, cacheWriter)
  const opening = dispatchStream(gateway, request, admission.plan, trace)
  const session = new StreamSession(gateway, request, admission, trace, settle)
  try {
    session.needsHeartbeat =
      (await gateway.timer.wait(opening, gateway.settings.limits.heartbeat)) === timedOut
  } catch (error) {
    throw await settleFailure(request, trace, settle, error)
  }
  return new Response(streamBody(gateway, request, session, opening), {
    headers: {
      ...buildStreamHeaders(request.format),
      ...buildReplyHeaders(request, listDroppedFields(trace)),
      ...cacheWriter?.headers,
    },
  })
}
