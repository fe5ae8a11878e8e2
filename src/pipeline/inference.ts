import type { Gateway } from '../app/gateway.ts'
import { withSpan } from '../app/tracing/span-recorder.ts'
import { yieldToEventLoop } from '../lib/time-slicer.ts'
import { preparePlugins } from '../plugins/apply.ts'
import { implyFileParser } from '../plugins/files/imply-file-parser.ts'
import type { NestedRequests } from '../tools/tool.ts'
import { replyFromCache } from './cache/cached-reply.ts'
import { CacheWriter, lookupCache, resolveCacheKey } from './cache/response-cache.ts'
import { guardRequest } from './guard/guard.ts'
import { recordIfBlocked } from './guard/refuse.ts'
import { createNestedRequests } from './nested/nested-requests.ts'
import { replyStreamed } from './reply/reply-streamed.ts'
import { replyWhole } from './reply/reply-whole.ts'
import type {
  IncomingRequest,
  InferenceRequest,
  ModelRequest,
  Unguarded,
} from './request/inference-request.ts'
import { parseRequest } from './request/parse.ts'
import { explainError } from './routing/metadata.ts'
import { assertRoutable, buildPlan, type RoutingPlan } from './routing/plan.ts'
import { admit } from './settlement/admit.ts'
import { recordRefused } from './settlement/refusal.ts'
import { releaseOnFailure } from './settlement/request-funds.ts'
import { prepareTools } from './tools/prepare.ts'
import { estimateSteps } from './tools/steps.ts'

/** A request for text: parse, guard, prepare plugins and tools, route, look up, admit, dispatch, settle, reply. */
export async function handleInference(gateway: Gateway, incoming: IncomingRequest): Promise<Response> {
  const parsed = await parseRequest(gateway, incoming)
  try {
    return await handleParsed(gateway, parsed)
  } catch (error) {
    recordRefused(gateway, parsed, null, error)
    throw error
  }
}

async function handleParsed(gateway: Gateway, parsed: Unguarded<InferenceRequest>): Promise<Response> {
  const guarded = await guardRequest(gateway, parsed)
  const { plain } = guarded.content
  const request = plain && !guarded.work && !guarded.funds ? guarded : await prepareRequest(gateway, guarded)
  if (request.content.received.isLarge) await yieldToEventLoop()
  return serveRequest(gateway, request, (plan) => replyWithText(gateway, request, plan))
}

/** With its plugins and tools. What they have reserved is released if they fail. */
function prepareRequest(gateway: Gateway, guarded: InferenceRequest): Promise<InferenceRequest> {
  const request = implyFileParser(gateway, guarded)
  const preparing = releaseOnFailure(gateway, request, async () => {
    const plugged = request.work ? await applyPlugins(gateway, request) : request
    return prepareTools(gateway, plugged, createNested)
  })
  return recordIfBlocked(gateway, request, preparing)
}

function applyPlugins(gateway: Gateway, request: InferenceRequest) {
  return preparePlugins(gateway, request, {
    isDryRun: false,
    callModel: createNested(gateway, request).callModel,
  })
}

/** How a plugin or tool makes requests. */
function createNested(gateway: Gateway, request: InferenceRequest): NestedRequests {
  return createNestedRequests(gateway, request, handleInference)
}

/** Routes a guarded request, whatever it asks for; `execute` looks it up, or admits it and replies. */
export function serveRequest(
  gateway: Gateway,
  request: ModelRequest,
  execute: (plan: RoutingPlan) => Promise<Response>,
): Promise<Response> {
  if (request.funds)
    return releaseOnFailure(gateway, request, () => routeAndExecute(gateway, request, execute))
  return routeAndExecute(gateway, request, execute)
}

function routeAndExecute(
  gateway: Gateway,
  request: ModelRequest,
  execute: (plan: RoutingPlan) => Promise<Response>,
): Promise<Response> {
  const plan = withSpan(request, 'route', () => buildPlan(gateway, request))
  const responding = executeRoutable(gateway, request, plan, execute)
  return request.options.wantsMetadata ? withErrorMetadata(request, plan, responding) : responding
}

async function executeRoutable(
  gateway: Gateway,
  request: ModelRequest,
  plan: RoutingPlan,
  execute: (plan: RoutingPlan) => Promise<Response>,
): Promise<Response> {
  try {
    assertRoutable(gateway, request, plan)
    return await execute(plan)
  } catch (error) {
    recordRefused(gateway, request, plan, error)
    throw error
  }
}

async function replyWithText(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
): Promise<Response> {
  const cacheKey = resolveCacheKey(gateway, request)
  const stored = cacheKey && withSpan(request, 'cache lookup', () => lookupCache(gateway, cacheKey))
  if (stored) return replyFromCache(gateway, request, plan, stored)
  const steps = request.work && (await estimateSteps(gateway, request, request.work, plan))
  const admission = await withSpan(request, 'admit', () => admit(gateway, request, plan, { steps }))
  request.onAdmitted?.()
  const reply = request.content.stream ? replyStreamed : replyWhole
  const observed = cacheKey ? new CacheWriter(gateway, cacheKey).attach(request) : request
  return reply(gateway, observed, admission)
}

async function withErrorMetadata(
  request: ModelRequest,
  plan: RoutingPlan,
  responding: Promise<Response>,
): Promise<Response> {
  try {
    return await responding
  } catch (error) {
    explainError(request, plan, null, error)
    throw error
  }
}
