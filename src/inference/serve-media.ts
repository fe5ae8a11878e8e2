import type { MediaWireFormat } from '../formats/media.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { withSpan } from '../platform/tracing/span-recorder.ts'
import { admit } from './hold/admit.ts'
import { excludeUnfit } from './media/fit.ts'
import { parseMediaRequest } from './media/parse.ts'
import type { IncomingMedia, MediaRequest, MediaTask } from './media/task.ts'
import type { Admitted } from './request/inference-request.ts'
import { serveRequest } from './serve.ts'
import { guardMedia } from './stages/guard.ts'

type RespondFn<Call> = (gateway: Gateway, request: Admitted<MediaRequest<Call>>) => Promise<Response>

/** A request for anything but text, on the same path: guard, route, admit, dispatch, settle, reply. */
export async function handleMedia<Call, D extends MediaWireFormat<Call>, Reply>(
  gateway: Gateway,
  incoming: IncomingMedia<Call>,
  task: MediaTask<Call, D, Reply>,
  respond: RespondFn<Call>,
): Promise<Response> {
  const parsed = await parseMediaRequest(gateway, incoming, task)
  return serveRequest<MediaRequest<Call>>(gateway, parsed, {
    prepare: guardMedia,
    reply: async (_gateway, request) => {
      request.plan = excludeUnfit(request.plan, request.media, task)
      return respond(gateway, await withSpan(request, 'admit', admit<MediaRequest<Call>>, gateway, request))
    },
  })
}
