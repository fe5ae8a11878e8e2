import type { Gateway } from '../gateway/gateway.ts'
import { yieldToEventLoop } from '../platform/time/time-slicer.ts'
import { withSpan } from '../platform/tracing/span-recorder.ts'
import type { Shadow } from '../storage/shadows/shadow.ts'
import { replyFromCache } from './cache/cached-reply.ts'
import { recordReply } from './cache/record-reply.ts'
import { lookupCache, resolveCacheKey } from './cache/response-cache.ts'
import { lookupSimilar } from './cache/semantic-cache.ts'
import { estimateSteps } from './estimate-steps.ts'
import { explainError } from './explain/metadata.ts'
import { recordIfBlocked } from './guard/block.ts'
import { assertEndUserAllowed } from './guard/blocked-end-user.ts'
import { admit } from './hold/admit.ts'
import { admitOrFallBack } from './hold/admit-fallback.ts'
import { createNestedRequests } from './nested/nested-requests.ts'
import { planRoute } from './plan/plan.ts'
import { preparePlugins } from './plugins/apply.ts'
import type {
  IncomingRequest,
  InferenceRequest,
  RequestState,
  Routed,
  Unguarded,
} from './request/inference-request.ts'
import { parseRequest } from './request/parse.ts'
import { assertNotRejected } from './request/routing-rules.ts'
import { rejectRequest } from './settle/reject.ts'
import { watchRequest } from './shadow/watch.ts'
import { guardRequest } from './stages/guard.ts'
import { replyStreamed } from './text/reply-streamed.ts'
import { replyWhole } from './text/reply-whole.ts'
import { prepareTools } from './tool-loop/prepare.ts'
import type { NestedRequests } from './tools/tool.ts'

/** A request for text: parse, guard, prepare plugins and tools, route, look up, admit, dispatch, settle, reply. */
export async function handleInference(gateway: Gateway, incoming: IncomingRequest): Promise<Response> {
  const parsed = await parseRequest(gateway, incoming)
  const { shadows } = parsed.keyContext
  return shadows && !parsed.isNested
    ? serveWatched(gateway, incoming, parsed, shadows)
    : serveRequest(gateway, parsed, textStages)
}

/** Serves a request that shadows may mirror once it is answered. */
async function serveWatched(
  gateway: Gateway,
  incoming: IncomingRequest,
  parsed: Unguarded<InferenceRequest>,
  shadows: readonly Shadow[],
): Promise<Response> {
  const watched = watchRequest(gateway, incoming, parsed, { shadows, handle: handleInference })
  try {
    const response = await serveRequest(gateway, parsed, textStages)
    if (response.headers.get('x-service-cache-status') === 'HIT') watched?.release('cached')
    return response
  } catch (error) {
    watched?.release('rejected')
    throw error
  }
}

/** The stages that differ between requests for text and for other tasks. */
export interface RequestStages<R extends RequestState> {
  /** Applies the guardrails, plugins and tools of the request: then it may be routed. */
  prepare(gateway: Gateway, parsed: Unguarded<R>): R | Promise<R>
  /** Looks it up, or admits it and sends it to the candidates of its plan. */
  reply(gateway: Gateway, request: Routed<R>): Promise<Response>
}

const textStages: RequestStages<InferenceRequest> = { prepare: prepareText, reply: replyWithText }

/** Serves a parsed request, or rejects it: releases what it has reserved, explains and records the error. */
export async function serveRequest<R extends RequestState>(
  gateway: Gateway,
  parsed: Unguarded<R> & Unguarded<RequestState>,
  stages: RequestStages<R>,
): Promise<Response> {
  try {
    if (parsed.rule) assertNotRejected(parsed)
    const isBlocking = parsed.keyContext.blockedEndUsers !== null
    if (isBlocking) assertEndUserAllowed(parsed)
    const request = await stages.prepare(gateway, parsed)
    // A filter may have redacted the name.
    if (isBlocking) assertEndUserAllowed(request)
    if (request.content.received.isLarge) await yieldToEventLoop()
    return await stages.reply(gateway, withSpan(request, 'route', planRoute<R>, gateway, request))
  } catch (error) {
    if (parsed.funds) await parsed.funds.close(gateway)
    explainError(parsed, error)
    rejectRequest(gateway, parsed, error)
    throw error
  }
}

async function prepareText(gateway: Gateway, parsed: Unguarded<InferenceRequest>): Promise<InferenceRequest> {
  const request = await guardRequest(gateway, parsed)
  if (request.content.plain && !request.work && !request.funds) return request
  await recordIfBlocked(gateway, request, addPluginsAndTools(gateway, request))
  return request
}

async function addPluginsAndTools(gateway: Gateway, request: InferenceRequest): Promise<void> {
  const { callModel } = createNested(gateway, request)
  await preparePlugins(gateway, request, { isDryRun: false, callModel })
  await prepareTools(gateway, request, createNested)
}

/** Creates the functions by which a plugin or tool makes requests. */
function createNested(gateway: Gateway, request: InferenceRequest): NestedRequests {
  return createNestedRequests(gateway, request, handleInference)
}

async function replyWithText(gateway: Gateway, request: Routed<InferenceRequest>): Promise<Response> {
  const cacheKey = resolveCacheKey(gateway, request)
  const stored =
    cacheKey && (await withSpan(request, 'cache lookup', lookupCache, gateway, request, cacheKey))
  if (stored) return replyFromCache(gateway, request, stored)
  const similar = cacheKey?.semantic
    ? await withSpan(request, 'semantic lookup', lookupSimilar, gateway, request, cacheKey)
    : null
  if (similar?.stored) return replyFromCache(gateway, request, similar.stored)
  const steps = request.work && (await estimateSteps(gateway, request, request.work))
  const hasFallbacks = request.options.fallbacks ?? request.plan.candidates[0]?.model.fallbacks
  const admitting = hasFallbacks ? admitOrFallBack<InferenceRequest> : admit<InferenceRequest>
  const admitted = await withSpan(request, 'admit', admitting, gateway, request, { steps })
  request.onAdmitted?.()
  if (cacheKey) recordReply(gateway, request, cacheKey, similar)
  return request.content.stream ? replyStreamed(gateway, admitted) : replyWhole(gateway, admitted)
}
