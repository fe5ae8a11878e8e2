import type { Gateway } from '../gateway/gateway.ts'
import { yieldToEventLoop } from '../platform/time/time-slicer.ts'
import { withSpan } from '../platform/tracing/span-recorder.ts'
import { replyFromCache } from './cache/cached-reply.ts'
import { CacheWriter, lookupCache, resolveCacheKey } from './cache/response-cache.ts'
import { estimateSteps } from './estimate-steps.ts'
import { explainError } from './explain/metadata.ts'
import { recordIfBlocked } from './guard/block.ts'
import { admit } from './hold/admit.ts'
import { releaseOnFailure } from './hold/request-funds.ts'
import { createNestedRequests } from './nested/nested-requests.ts'
import { assertRoutable, buildPlan, type RoutingPlan } from './plan/plan.ts'
import { preparePlugins } from './plugins/apply.ts'
import { implyFileParser } from './plugins/files/imply-file-parser.ts'
import type {
  IncomingRequest,
  InferenceRequest,
  ModelRequest,
  Unguarded,
} from './request/inference-request.ts'
import { parseRequest } from './request/parse.ts'
import { rejectRequest } from './settle/reject.ts'
import { guardRequest } from './stages/guard.ts'
import { replyStreamed } from './text/reply-streamed.ts'
import { replyWhole } from './text/reply-whole.ts'
import { prepareTools } from './tool-loop/prepare.ts'
import type { NestedRequests } from './tools/tool.ts'

/** A request for text: parse, guard, prepare plugins and tools, route, look up, admit, dispatch, settle, reply. */
export async function handleInference(gateway: Gateway, incoming: IncomingRequest): Promise<Response> {
  const parsed = await parseRequest(gateway, incoming)
  return serveRequest(gateway, parsed, textStages)
}

/** What differs between requests for text and for other tasks. */
export interface RequestStages<R extends ModelRequest> {
  /** The request as it may be routed: with its guardrails, plugins and tools applied. */
  prepare(gateway: Gateway, parsed: Unguarded<R>): R | Promise<R>
  /** Looks it up, or admits it and sends it to the candidates of the plan. */
  reply(gateway: Gateway, request: R, plan: RoutingPlan): Promise<Response>
}

const textStages: RequestStages<InferenceRequest> = { prepare: prepareText, reply: replyWithText }

/** Serves a parsed request, or rejects it: releases what it has reserved, explains and records the error. */
export async function serveRequest<R extends ModelRequest>(
  gateway: Gateway,
  parsed: Unguarded<R> & Unguarded<ModelRequest>,
  stages: RequestStages<R>,
): Promise<Response> {
  let request: R | null = null
  let plan: RoutingPlan | null = null
  try {
    request = await stages.prepare(gateway, parsed)
    if (request.content.received.isLarge) await yieldToEventLoop()
    plan = withSpan(request, 'route', buildPlan, gateway, request)
    assertRoutable(gateway, request, plan)
    return await stages.reply(gateway, request, plan)
  } catch (error) {
    if (request?.funds) await request.funds.close(gateway)
    if (request && plan) explainError(request, plan, null, error)
    rejectRequest(gateway, request ?? parsed, plan, error)
    throw error
  }
}

async function prepareText(gateway: Gateway, parsed: Unguarded<InferenceRequest>): Promise<InferenceRequest> {
  const guarded = await guardRequest(gateway, parsed)
  if (guarded.content.plain && !guarded.work && !guarded.funds) return guarded
  const request = implyFileParser(gateway, guarded)
  const preparing = releaseOnFailure(gateway, request, () => addPluginsAndTools(gateway, request))
  return recordIfBlocked(gateway, request, preparing)
}

async function addPluginsAndTools(gateway: Gateway, request: InferenceRequest): Promise<InferenceRequest> {
  const plugged = request.work ? await applyPlugins(gateway, request) : request
  return prepareTools(gateway, plugged, createNested)
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

async function replyWithText(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
): Promise<Response> {
  const cacheKey = resolveCacheKey(gateway, request)
  const stored = cacheKey && withSpan(request, 'cache lookup', lookupCache, gateway, cacheKey)
  if (stored) return replyFromCache(gateway, request, plan, stored)
  const steps = request.work && (await estimateSteps(gateway, request, request.work, plan))
  const admission = await withSpan(request, 'admit', admit, gateway, request, plan, { steps })
  request.onAdmitted?.()
  const reply = request.content.stream ? replyStreamed : replyWhole
  const observed = cacheKey ? new CacheWriter(gateway, cacheKey).attach(request) : request
  return reply(gateway, observed, admission)
}
