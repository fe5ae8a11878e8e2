import type { Gateway } from '../../app/gateway.ts'
import { withSpan } from '../../app/tracing/span-recorder.ts'
import { assertRegionAllowed } from '../../policy/guard.ts'
import type { MediaRequest } from '../media/task.ts'
import type { InferenceRequest, ModelRequest, Unguarded } from '../request/inference-request.ts'
import { inspectMedia, inspectRequest } from './inspect.ts'
import { moderate } from './moderate.ts'
import { mayBeModerated } from './moderation-rules.ts'
import { refuseBlocked } from './refuse.ts'

/**
 * Applies the guardrails to a parsed request: refuses it, or returns it as it may be sent. Only a guarded request can
 * be routed.
 */
export function guardRequest(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  return withSpan(parsed, 'guard', () => {
    const filtered = filterRequest(gateway, parsed)
    return filtered instanceof Promise || mayBeModerated(filtered)
      ? moderateFiltered(gateway, filtered)
      : filtered
  })
}

/** As `guardRequest`, for a prompt whose tokens are only counted: it is not moderated. */
export function guardTokenCount(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  return withSpan(parsed, 'guard', () => filterRequest(gateway, parsed))
}

function filterRequest(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  assertRegionAllowed(parsed.keyContext.policy, parsed.region)
  const inspected = inspectRequest(gateway, parsed)
  return inspected instanceof Promise ? refuseIfBlocked(gateway, inspected) : inspected
}

/** As `guardRequest`, for a task other than text. */
export function guardMedia<Call>(
  gateway: Gateway,
  parsed: Unguarded<MediaRequest<Call>>,
): Promise<MediaRequest<Call>> {
  return withSpan(parsed, 'guard', async () => {
    assertRegionAllowed(parsed.keyContext.policy, parsed.region)
    return moderateFiltered(gateway, refuseIfBlocked(gateway, inspectMedia(gateway, parsed)))
  })
}

/** A moderation model sees what the filters have left. */
async function moderateFiltered<R extends ModelRequest>(
  gateway: Gateway,
  filtered: R | Promise<R>,
): Promise<R> {
  return moderate(gateway, await filtered)
}

async function refuseIfBlocked<R extends ModelRequest>(
  gateway: Gateway,
  inspected: R | Promise<R>,
): Promise<R> {
  const request = await inspected
  await refuseBlocked(gateway, request)
  return request
}
