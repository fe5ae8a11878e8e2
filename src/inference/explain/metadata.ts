import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { asNumber, asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { type FailedAttempt, statusFor } from '../failures/failure.ts'
import type { RoutingPlan } from '../plan/plan.ts'
import type { ModelRequest } from '../request/inference-request.ts'
import type { PipelineStage } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'
import {
  type ExplainedDecision,
  explainDecision,
  type HealthSnapshot,
  type RoutingOutcome,
  type UpstreamAttempt,
} from '../routing/explain.ts'
import type { RequestTrace } from '../settle/trace.ts'
import { describeGuardrailStages } from './guardrail-stages.ts'

/** The `service_metadata` of a request, up to its current attempt. */
export function buildMetadata(request: ModelRequest, trace: RequestTrace): JsonObject {
  return {
    ...explainDecision(describeDecision(request, trace.plan), describePath(trace, null)),
    ...describePipeline(request, trace),
  }
}

const noSnapshot: HealthSnapshot = new Map()

export function describeDecision(request: ModelRequest, plan: RoutingPlan): ExplainedDecision {
  const { options, region, content } = request
  const requested = content.received.model ?? options.routed?.requested ?? options.models[0] ?? ''
  return {
    ...plan,
    requested: requested.slice(0, maxNameLength),
    slugs: options.models,
    routed: options.routed ?? null,
    region,
    params: collectRoutingParams(request, plan),
    healthSnapshot: plan.healthSnapshot ?? noSnapshot,
  }
}

/** The requested name is unbounded: suffixes can be repeated. */
const maxNameLength = 256

/** The routing parameters of the request, under their API names. */
function collectRoutingParams(
  { options, content }: ModelRequest,
  { resolvedModels, qualityFloor }: RoutingPlan,
): JsonObject {
  const preferences = Object.entries(options.preferences).filter(([, value]) => value !== null)
  const variants = [...new Set(resolvedModels[0]?.variants)]
  return {
    ...Object.fromEntries(preferences),
    ...(variants.length > 0 && { variants }),
    ...(qualityFloor !== null && { quality_floor: Math.round(qualityFloor * 1e4) / 1e4 }),
    ...(content.call.serviceTier !== undefined && { service_tier: content.call.serviceTier }),
  }
}

/** Adds `service_metadata` to the error if it was requested. Internal errors are only logged. */
export function explainError(
  request: ModelRequest,
  plan: RoutingPlan,
  trace: RequestTrace | null,
  error: unknown,
): void {
  if (!request.options.wantsMetadata || !(error instanceof GatewayError) || error.serviceMetadata) return
  error.serviceMetadata = {
    ...explainDecision(describeDecision(request, plan), trace && describePath(trace, error)),
    ...describePipeline(request, trace),
  }
}

/** The steps besides the model: only those that acted. */
export function describePipeline(
  { hits, work, keyContext }: ModelRequest,
  trace: RequestTrace | null = null,
): { pipeline?: PipelineStage[] } {
  const compression = trace?.translation?.compression
  const pipeline = [
    ...describeGuardrailStages(hits ?? [], keyContext.guardrailIds),
    ...(compression ? [compression] : []),
    ...(work?.stages ?? []),
  ]
  return pipeline.length === 0 ? {} : { pipeline }
}

function describePath(trace: RequestTrace, error: GatewayError | null): RoutingOutcome {
  const now = performance.now()
  const { candidate, attemptStartedAt, startedAt } = trace
  const attempts = trace.attempts.map((attempt) => describeAttempt(attempt, startedAt))
  // The last attempt has either failed already, or is the current one.
  const hasFailed = trace.attempts.at(-1)?.startedAt === attemptStartedAt
  if (candidate && !hasFailed) attempts.push(describeCurrentAttempt(candidate, trace, error, now))
  return {
    attempts,
    servedBy: error || hasFailed ? null : candidate,
    lastCandidate: candidate,
    generationMs: candidate && now - attemptStartedAt,
    firstTokenMs: trace.firstTokenMs,
    totalMs: now - startedAt,
  }
}

function describeAttempt(
  { endpoint: tag, failure, startedAt, endedAt, ...attempt }: FailedAttempt,
  requestStartedAt: number,
): UpstreamAttempt {
  return {
    ...attempt,
    tag,
    status: statusFor(failure),
    error: failure.kind,
    startedMs: startedAt - requestStartedAt,
    durationMs: endedAt - startedAt,
  }
}

/** If the client's error is a failure of the provider, it is that of this attempt. */
function describeCurrentAttempt(
  { model, endpoint, byokKey }: Candidate,
  { attemptStartedAt, startedAt }: RequestTrace,
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
    startedMs: attemptStartedAt - startedAt,
    durationMs: now - attemptStartedAt,
  }
}
