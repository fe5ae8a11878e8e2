import type { Gateway } from '../../gateway/gateway.ts'
import { sourceSilences } from '../../platform/http/response-traits.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import { augmentRequest } from '../plugins/apply.ts'
import { buildReplyHeaders, buildStreamHeaders, listDroppedFields } from '../reply/http-response.ts'
import type { Admitted, InferenceRequest } from '../request/inference-request.ts'
import { settleFailure } from '../settle/settle-failure.ts'
import { resumeTools } from '../tool-loop/resume.ts'
import { dispatchStream, type OpenedStream } from './dispatch-stream.ts'
import { StreamSession, streamBody } from './stream-session.ts'

/** A failure before the first heartbeat is due keeps its status; after that the status is 200 and failures are events. */
export async function replyStreamed(
  gateway: Gateway,
  request: Admitted<InferenceRequest>,
): Promise<Response> {
  request.spans?.beginStream()
  const session = new StreamSession(gateway, request)
  const opening = openStream(gateway, request, session)
  const opened = await gateway.timer
    .wait(opening, gateway.settings.limits.heartbeat)
    .catch(async (error: unknown) => {
      throw await settleFailure(gateway, request, error)
    })
  const body = streamBody(gateway, request, session, opened === timedOut ? opening : opened)
  const response = new Response(body, {
    headers: {
      ...buildStreamHeaders(request.format),
      ...buildReplyHeaders(request, listDroppedFields(request)),
    },
  })
  sourceSilences.set(response, 2 * gateway.settings.limits.heartbeat)
  return response
}

async function openStream(
  gateway: Gateway,
  request: Admitted<InferenceRequest>,
  session: StreamSession,
): Promise<OpenedStream> {
  if (request.work) {
    await augmentRequest(gateway, request)
    await resumeTools(gateway, request)
  }
  const opened = await dispatchStream(gateway, request)
  session.open(opened)
  return opened
}
