import type { Gateway } from '../../app/gateway.ts'
import { withSpan } from '../../app/tracing/span-recorder.ts'
import type { MediaDialect } from '../../dialects/media.ts'
import { guardMedia } from '../guard/guard.ts'
import { serveRequest } from '../inference.ts'
import type { Unguarded } from '../request/inference-request.ts'
import { type Admission, admit } from '../settlement/admit.ts'
import { recordRefused } from '../settlement/refusal.ts'
import { excludeUnfit } from './fit.ts'
import { parseMediaRequest } from './parse.ts'
import type { IncomingMedia, MediaRequest, MediaTask } from './task.ts'

type RespondFn<Call> = (
  gateway: Gateway,
  request: MediaRequest<Call>,
  admission: Admission,
) => Promise<Response>

/** A request for anything but text, on the same path: guard, route, admit, dispatch, settle, reply. */
export async function handleMedia<Call, D extends MediaDialect<Call>, Reply>(
  gateway: Gateway,
  incoming: IncomingMedia<Call>,
  task: MediaTask<Call, D, Reply>,
  respond: RespondFn<Call>,
): Promise<Response> {
  const parsed = await parseMediaRequest(gateway, incoming, task)
  try {
    return await handleParsed(gateway, parsed, task, respond)
  } catch (error) {
    recordRefused(gateway, parsed, null, error)
    throw error
  }
}

async function handleParsed<Call, D extends MediaDialect<Call>, Reply>(
  gateway: Gateway,
  parsed: Unguarded<MediaRequest<Call>>,
  task: MediaTask<Call, D, Reply>,
  respond: RespondFn<Call>,
): Promise<Response> {
  const request = await guardMedia(gateway, parsed)
  return serveRequest(gateway, request, async (plan) => {
    const fit = excludeUnfit(plan, request.media, task)
    const admission = await withSpan(request, 'admit', () => admit(gateway, request, fit))
    return respond(gateway, request, admission)
  })
}
