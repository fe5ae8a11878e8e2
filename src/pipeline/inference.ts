import type { Gateway } from '../app/gateway.ts'
import { collectReply } from '../call/event.ts'
import { type GatewayError, gatewayError, toGatewayError } from '../errors/gateway-error.ts'
import { type Charge, zeroCharge } from '../ledger/charge.ts'
import type { ByteCacheEntry } from '../lib/byte-cache.ts'
import { timedOut } from '../lib/coarse-timer.ts'
import type { JsonObject } from '../lib/json-values.ts'
import { encodeJsonChunks, estimateJsonLength } from '../lib/long-json.ts'
import { yieldToEventLoop } from '../lib/time-slicer.ts'
import { assertRegionAllowed } from '../policy/guard.ts'
import { CacheWriter, lookupCache, replayEntry, resolveCacheKey } from './cache/response-cache.ts'
import { StreamSession, streamBody } from './reply/stream-session.ts'
import {
  type ClientFormat,
  type IncomingRequest,
  type InferenceRequest,
  isLarge,
} from './request/inference-request.ts'
import { parseRequest } from './request/parse.ts'
import { explainError } from './routing/metadata.ts'
import { assertRoutable, buildPlan, type RoutingPlan } from './routing/plan.ts'
import { type Admission, admit } from './settlement/admit.ts'
import { buildCost, computeCharge, endedWithError, type SettleFn, settleOnce } from './settlement/settle.ts'
import { type AcceptedAttempt, createTrace, type Outcome, type RequestTrace } from './settlement/trace.ts'
import { dispatchStream, dispatchWhole, type WholeReply } from './upstream/dispatch.ts'
import { ClientGoneError, unexpectedReplyError } from './upstream/errors.ts'
import { recordFailure, toClientError } from './upstream/failure.ts'

/** From a question to its answer: every request that may reach a model comes this way. */
export async function handleInference(gateway: Gateway, incoming: IncomingRequest): Promise<Response> {
  const request = await parseRequest(gateway, incoming)
  if (isLarge(request.source)) await yieldToEventLoop()
  assertRegionAllowed(request.keyContext.policy, request.region)
  const plan = buildPlan(gateway, request)
  const answering = executePlan(gateway, request, plan)
  return request.options.wantsMetadata ? withErrorMetadata(request, plan, answering) : answering
}

async function executePlan(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
): Promise<Response> {
  assertRoutable(gateway, request, plan)
  const cacheKey = resolveCacheKey(gateway, request)
  const kept = cacheKey && lookupCache(gateway, cacheKey)
  if (kept) return replyFromCache(gateway, request, plan, kept)
  const admission = await admit(gateway, request, plan)
  request.onAdmitted?.()
  const reply = request.call.stream ? replyStreamed : replyWhole
  if (!cacheKey) return reply(gateway, request, admission, null)
  const cacheWriter = new CacheWriter(gateway, cacheKey)
  return reply(gateway, cacheWriter.tap(request), admission, cacheWriter)
}

async function withErrorMetadata(
  request: InferenceRequest,
  plan: RoutingPlan,
  answering: Promise<Response>,
): Promise<Response> {
  try {
    return await answering
  } catch (error) {
    explainError(request, plan, null, error)
    throw error
  }
}

async function replyWhole(
  gateway: Gateway,
  request: InferenceRequest,
  admission: Admission,
  cacheWriter: CacheWriter | null,
): Promise<Response> {
  const trace = createTrace(request.startedAt, admission.plan)
  const close = createSettle(gateway, request, admission, trace, cacheWriter)
  try {
    const attempt = await dispatchWhole(gateway, request, admission.plan, trace)
    const { summary } = attempt.reply
    const broken = summary.failure !== null || endedWithError(summary)
    if (broken && !request.format.replyCodec.canEncodeFailure) throw brokenReplyError(trace, attempt)
    const charge = computeCharge(gateway, request, admission, attempt.candidate, summary, broken)
    const body = encodeBody(request, attempt, charge)
    const status = broken ? 'failed' : request.httpRequest.signal.aborted ? 'cancelled' : 'completed'
    const outcome: Outcome = { status, charge, summary, error: null, firstTokenMs: null }
    await close(outcome, await request.store?.(body))
    return toJsonResponse(gateway, body, {
      ...replyHeaders(request, [...droppedFields(trace), ...summary.losses]),
      ...cacheWriter?.headers,
    })
  } catch (error) {
    throw await settleFailure(request, trace, close, error)
  }
}

/** Longer answers are written piece by piece, while the client reads them. */
const chunkedReplyLength = 1024 * 1024

function toJsonResponse(
  { timeSlicer }: Gateway,
  body: JsonObject,
  headers: Record<string, string>,
): Response {
  if (estimateJsonLength(body) < chunkedReplyLength) return Response.json(body, { headers })
  return new Response(timeSlicer.iterate(encodeJsonChunks(body)), {
    headers: { 'content-type': 'application/json;charset=utf-8', ...headers },
  })
}

/** What ends a request, and keeps its answer where that is wished for. */
function createSettle(
  gateway: Gateway,
  request: InferenceRequest,
  admission: Admission,
  trace: RequestTrace,
  cacheWriter: CacheWriter | null,
): SettleFn {
  const close = settleOnce(gateway, request, admission, trace)
  return cacheWriter ? cacheWriter.wrapSettle(request, trace, close) : close
}

/** The answer to an earlier request that was the same. */
async function replyFromCache(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
  kept: ByteCacheEntry,
): Promise<Response> {
  const { body, dropped, headers } = await replayEntry(gateway, request, plan, kept)
  const told = { ...replyHeaders(request, dropped), ...headers }
  if (!Array.isArray(body)) return Response.json(body, { headers: told })
  return new Response(streamTexts(body), { headers: { ...streamHeaders(request.format), ...told } })
}

async function* streamTexts(texts: string[]): AsyncGenerator<string> {
  yield* texts
}

/** A reply that broke off, for a client whose format cannot say so. */
function brokenReplyError(
  { attempts, attemptAt }: RequestTrace,
  { candidate, reply, translation }: AcceptedAttempt<WholeReply>,
): GatewayError {
  const failure =
    reply.summary.failure ?? unexpectedReplyError('The provider ended its reply with an error.').failure
  return toClientError([...attempts, recordFailure(candidate, failure, attemptAt, translation.isPassThrough)])
}

function encodeBody(
  request: InferenceRequest,
  { translation, context, reply, candidate }: AcceptedAttempt<WholeReply>,
  charge: Charge,
) {
  const bill = buildCost(charge, candidate)
  const { dialect, isPassThrough } = translation
  if (isPassThrough && reply.body)
    return dialect.passthrough.passReply(reply.body, context, bill, charge.usage)
  return request.format.replyCodec.encodeReply(
    { ...collectReply(reply.events), usage: charge.usage },
    context,
    bill,
  )
}

/** Settles a request that has no answer, and says what the client is told. */
async function settleFailure(
  request: InferenceRequest,
  trace: RequestTrace,
  close: SettleFn,
  error: unknown,
): Promise<Error> {
  const gone = error instanceof ClientGoneError
  const told = gone ? gatewayError('request_timeout', 'The client left.') : toGatewayError(error)
  const status = gone ? 'cancelled' : 'failed'
  explainError(request, trace.plan, trace, told)
  // It is in the log; the client is told of the first error, not of the second.
  await close({ status, charge: zeroCharge, summary: null, error: told, firstTokenMs: null }).catch(
    () => undefined,
  )
  told.headers['x-generation-id'] = request.id
  return told
}

/** Quick failures keep their status; once the client has waited long enough for a sign of life it is 200. */
async function replyStreamed(
  gateway: Gateway,
  request: InferenceRequest,
  admission: Admission,
  cacheWriter: CacheWriter | null,
): Promise<Response> {
  const trace = createTrace(request.startedAt, admission.plan)
  const close = createSettle(gateway, request, admission, trace, cacheWriter)
  const opening = dispatchStream(gateway, request, admission.plan, trace)
  const run = new StreamSession(gateway, request, admission, trace, close)
  try {
    run.needsHeartbeat = (await gateway.timer.wait(opening, gateway.settings.limits.heartbeat)) === timedOut
  } catch (error) {
    throw await settleFailure(request, trace, close, error)
  }
  return new Response(streamBody(gateway, request, run, opening), {
    headers: {
      ...streamHeaders(request.format),
      ...replyHeaders(request, droppedFields(trace)),
      ...cacheWriter?.headers,
    },
  })
}

export function streamHeaders({ replyCodec }: ClientFormat): Record<string, string> {
  return {
    'content-type': replyCodec.streamContentType ?? 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  }
}

function droppedFields({ translation }: RequestTrace): string[] {
  return translation?.upstreamRequest.dropped ?? []
}

function replyHeaders(request: InferenceRequest, dropped: string[]): Record<string, string> {
  return {
    'x-generation-id': request.id,
    ...(dropped.length > 0 && { 'x-headgate-dropped': toHeaderList(dropped) }),
  }
}

/** Clients refuse an answer whose headers are too long. */
const maxHeaderLength = 2000

function toHeaderList(names: string[]): string {
  const list = names.map((name) => name.replace(/[^\x21-\x7e]|,/g, '?')).join(', ')
  return list.length > maxHeaderLength ? `${list.slice(0, maxHeaderLength)}...` : list
}
