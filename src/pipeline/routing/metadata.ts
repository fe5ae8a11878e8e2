import { GatewayError } from '../../errors/gateway-error.ts'
import { asNumber, asObject, asString, type JsonObject } from '../../lib/json-values.ts'
import type { Candidate } from '../../routing/candidate.ts'
import {
  type ExplainedDecision,
  explainDecision,
  type HealthSnapshot,
  type RoutingOutcome,
  type UpstreamAttempt,
} from '../../routing/explain.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { RequestTrace } from '../settlement/trace.ts'
import { type FailedAttempt, statusFor } from '../upstream/failure.ts'
import type { RoutingPlan } from './plan.ts'

/** What `service_metadata` says of a request, as far as it has come. */
export function buildMetadata(request: InferenceRequest, trace: RequestTrace): JsonObject {
  return { ...explainDecision(describeDecision(request, trace.plan), describePath(trace, null)) }
}

const noSnapshot: HealthSnapshot = new Map()

export function describeDecision(request: InferenceRequest, plan: RoutingPlan): ExplainedDecision {
  const { options, region, content } = request
  const requested = asString(content.source.body?.model) ?? options.models[0] ?? ''
  return {
    ...plan,
    requested: requested.slice(0, maxNameLength),
    slugs: options.models,
    region,
    params: routingParams(request, plan),
    healthSnapshot: plan.healthSnapshot ?? noSnapshot,
  }
}

/** Suffixes can be piled up without end. */
const maxNameLength = 256

/** What the request says about its way, by the names it says it with. */
function routingParams({ options, content }: InferenceRequest, { resolvedModels }: RoutingPlan): JsonObject {
  const said = Object.entries(options.routing).filter(([, value]) => value !== null)
  const variants = [...new Set(resolvedModels[0]?.variants)]
  return {
    ...Object.fromEntries(said),
    ...(variants.length > 0 && { variants }),
    ...(content.call.serviceTier !== undefined && { service_tier: content.call.serviceTier }),
  }
}

/** Tells why a request failed, to who asked for it. What is our own fault stays between the log and us. */
export function explainError(
  request: InferenceRequest,
  plan: RoutingPlan,
  trace: RequestTrace | null,
  error: unknown,
): void {
  if (!request.options.wantsMetadata || !(error instanceof GatewayError) || error.serviceMetadata) return
  error.serviceMetadata = {
    ...explainDecision(describeDecision(request, plan), trace && describePath(trace, error)),
  }
}

function describePath(trace: RequestTrace, error: GatewayError | null): RoutingOutcome {
  const now = performance.now()
  const { candidate, attemptAt, startedAt } = trace
  const attempts = trace.attempts.map((attempt) => describeAttempt(attempt, startedAt))
  // The last one is either among those that failed, or the one this is about.
  const hasFailed = trace.attempts.at(-1)?.beganAt === attemptAt
  if (candidate && !hasFailed) attempts.push(describeCurrentAttempt(candidate, trace, error, now))
  return {
    attempts,
    servedBy: error || hasFailed ? null : candidate,
    lastCandidate: candidate,
    generationMs: candidate && now - attemptAt,
    firstTokenMs: trace.firstTokenMs,
    totalMs: now - startedAt,
  }
}

function describeAttempt(
  { endpoint: tag, failure, beganAt, endedAt, ...attempt }: FailedAttempt,
  from: number,
): UpstreamAttempt {
  return {
    ...attempt,
    tag,
    status: statusFor(failure),
    error: failure.kind,
    startedMs: beganAt - from,
    durationMs: endedAt - beganAt,
  }
}

/** When its client is told of a failure of the provider, it is that of this one. */
function describeCurrentAttempt(
  { model, endpoint, byokKey }: Candidate,
  { attemptAt, startedAt }: RequestTrace,
  error: GatewayError | null,
  now: number,
): UpstreamAttempt {
  const failure = error?.code.startsWith('upstream_') ? asObject(error.cause) : undefined
  return {
    model: model.id,
    provider: endpoint.provider.name,
    tag: endpoint.tag,
    byokKeyId: byokKey?.id ?? null,
    status: failure ? (asNumber(failure.status) ?? error?.row.status ?? 502) : 200,
    error: asString(failure?.kind) ?? null,
    startedMs: attemptAt - startedAt,
    durationMs: now - attemptAt,
  }
}
