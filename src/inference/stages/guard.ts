import type { Gateway } from '../../gateway/gateway.ts'
import { assertRegionAllowed } from '../../governance/policy/guard.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import { throwIfBlocked } from '../guard/block.ts'
import { createReplyChecks } from '../guard/checks/reply-checks.ts'
import { inspectRequest } from '../guard/inspect.ts'
import { MediaFilter } from '../guard/media-filter.ts'
import { ReplyFilter } from '../guard/reply-filter.ts'
import { ReplyInspector } from '../guard/reply-inspector.ts'
import { restoreReply } from '../guard/reversible.ts'
import type { MediaRequest } from '../media/task.ts'
import type { InferenceRequest, Unguarded } from '../request/inference-request.ts'
import { checkMediaPrompt, checkPrompt } from './external-checks.ts'
import { inspectMedia } from './inspect-media.ts'
import { moderate } from './moderate.ts'

/**
 * Applies the guardrails to a parsed request, or refuses it. Only a guarded request can be routed and sent. A request
 * without rules about content is returned at once.
 */
export function guardRequest(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): InferenceRequest | Promise<InferenceRequest> {
  const { contentRules, policy } = parsed.keyContext
  if (contentRules || policy.dry_run || parsed.work || parsed.spans)
    return withSpan(parsed, 'guard', filterAndModerate, gateway, parsed)
  assertRegionAllowed(policy, parsed.region)
  return Object.assign(parsed, { isGuarded: true as const })
}

/** A moderation model sees what the filters have left. */
async function filterAndModerate(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): Promise<InferenceRequest> {
  const request = await filterRequest(gateway, parsed)
  if (request.keyContext.contentRules?.external) await checkPrompt(gateway, request)
  await moderate(gateway, request)
  filterReply(gateway, request)
  restoreReply(request)
  return request
}

/** Applies the guardrails to a prompt whose tokens are only counted: it is not moderated. */
export function guardTokenCount(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): Promise<InferenceRequest> {
  return withSpan(parsed, 'guard', filterRequest, gateway, parsed)
}

async function filterRequest(
  gateway: Gateway,
  parsed: Unguarded<InferenceRequest>,
): Promise<InferenceRequest> {
  assertRegionAllowed(parsed.keyContext.policy, parsed.region)
  const request = await inspectRequest(gateway, parsed)
  await throwIfBlocked(gateway, request)
  return request
}

/** Adds the filters of the reply. */
function filterReply(gateway: Gateway, request: InferenceRequest): void {
  const { contentRules } = request.keyContext
  const { hits } = request
  if (!contentRules || !hits) return
  // They read what the filters have left.
  const checks = contentRules.external?.output.length ? createReplyChecks(gateway, request, hits) : []
  request.replyFilters = checks
  const rules = contentRules.output
  if (!rules) return
  const { enforced, recorded } = rules
  const inspector = recorded && new ReplyInspector(gateway, recorded)
  if (inspector)
    request.completeHits = async () => {
      hits.push(...(await inspector.findHits()))
    }
  // Without transforms the reply is passed through.
  if (inspector && !enforced) {
    request.replyObservers = [...request.replyObservers, () => inspector.restart()]
    return
  }
  const inspect = inspector ? [() => inspector.restart().toTransform()] : []
  const filter = enforced ? [() => new ReplyFilter(gateway, enforced, hits)] : []
  request.replyFilters = [...inspect, ...filter, ...checks]
}

/** Applies the guardrails to a request for a task other than text. */
export function guardMedia<Call>(
  gateway: Gateway,
  parsed: Unguarded<MediaRequest<Call>>,
): Promise<MediaRequest<Call>> {
  return withSpan(parsed, 'guard', async () => {
    assertRegionAllowed(parsed.keyContext.policy, parsed.region)
    const request = await inspectMedia(gateway, parsed)
    await throwIfBlocked(gateway, request)
    if (request.keyContext.contentRules?.external) await checkMediaPrompt(gateway, request)
    await moderate(gateway, request)
    filterMedia(gateway, request)
    return request
  })
}

function filterMedia<Call>(gateway: Gateway, request: MediaRequest<Call>): void {
  const rules = request.keyContext.contentRules?.output
  if (!rules || !request.hits) return
  const replyFilter = new MediaFilter(gateway, rules, request.hits)
  request.replyFilter = replyFilter
  request.completeHits = () => replyFilter.completeHits()
}
