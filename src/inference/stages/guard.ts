import type { Gateway } from '../../gateway/gateway.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import { assertRegionAllowed } from '../../governance/policy/guard.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import { throwIfBlocked } from '../guard/block.ts'
import { inspectRequest } from '../guard/inspect.ts'
import { MediaFilter } from '../guard/media-filter.ts'
import { ReplyFilter } from '../guard/reply-filter.ts'
import { ReplyInspector } from '../guard/reply-inspector.ts'
import type { MediaRequest } from '../media/task.ts'
import type { InferenceRequest, ModelRequest, Unguarded } from '../request/inference-request.ts'
import { inspectMedia } from './inspect-media.ts'
import { moderate } from './moderate.ts'

/**
 * Applies the guardrails to a parsed request: refuses it, or returns it as it may be sent. Only a guarded request can
 * be routed.
 */
export function guardRequest(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  return withSpan(parsed, 'guard', filterAll, gateway, parsed)
}

/** A request without rules about content is returned at once. */
function filterAll(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  const { contentRules, policy } = parsed.keyContext
  if (contentRules || policy.dry_run || parsed.work) return filterAndModerate(gateway, parsed)
  assertRegionAllowed(policy, parsed.region)
  return Object.assign(parsed, { hits: null })
}

async function filterAndModerate(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): Promise<InferenceRequest> {
  const filtered = filterRequest(gateway, parsed)
  return filterReply(gateway, await moderateFiltered(gateway, filtered))
}

/** As `guardRequest`, for a prompt whose tokens are only counted: it is not moderated. */
export function guardTokenCount(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  return withSpan(parsed, 'guard', filterRequest, gateway, parsed)
}

function filterRequest(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  assertRegionAllowed(parsed.keyContext.policy, parsed.region)
  const inspected = inspectRequest(gateway, parsed)
  return inspected instanceof Promise ? rejectIfBlocked(gateway, inspected) : inspected
}

/** The request with the filters of its reply. */
function filterReply(gateway: Gateway, request: InferenceRequest): InferenceRequest {
  const rules = request.keyContext.contentRules?.output
  const { hits, replyObservers } = request
  if (!rules || !hits) return request
  const { enforced, recorded } = rules
  const inspector = recorded && new ReplyInspector(gateway, recorded)
  // Without transforms the reply is passed through.
  if (!enforced && inspector) {
    const observers = [...replyObservers, () => inspector.restart()]
    return { ...request, replyObservers: observers, completeHits: recordAtEnd(inspector, hits) }
  }
  const inspect = inspector ? [() => inspector.restart().toTransform()] : []
  const filter = enforced ? [() => new ReplyFilter(gateway, enforced, hits)] : []
  return {
    ...request,
    replyFilters: [...inspect, ...filter],
    ...(inspector && { completeHits: recordAtEnd(inspector, hits) }),
  }
}

function recordAtEnd(inspector: ReplyInspector, hits: GuardrailHit[]): () => Promise<void> {
  return async () => {
    hits.push(...(await inspector.findHits()))
  }
}

/** As `guardRequest`, for a task other than text. */
export function guardMedia<Call>(
  gateway: Gateway,
  parsed: Unguarded<MediaRequest<Call>>,
): Promise<MediaRequest<Call>> {
  return withSpan(parsed, 'guard', async () => {
    assertRegionAllowed(parsed.keyContext.policy, parsed.region)
    const filtered = rejectIfBlocked(gateway, inspectMedia(gateway, parsed))
    return filterMedia(gateway, await moderateFiltered(gateway, filtered))
  })
}

function filterMedia<Call>(gateway: Gateway, request: MediaRequest<Call>): MediaRequest<Call> {
  const rules = request.keyContext.contentRules?.output
  if (!rules || !request.hits) return request
  const replyFilter = new MediaFilter(gateway, rules, request.hits)
  return { ...request, replyFilter, completeHits: () => replyFilter.completeHits() }
}

/** A moderation model sees what the filters have left. */
async function moderateFiltered<R extends ModelRequest>(
  gateway: Gateway,
  filtered: R | Promise<R>,
): Promise<R> {
  return moderate(gateway, await filtered)
}

async function rejectIfBlocked<R extends ModelRequest>(
  gateway: Gateway,
  inspected: R | Promise<R>,
): Promise<R> {
  const request = await inspected
  await throwIfBlocked(gateway, request)
  return request
}
