import type { Priority } from '../../formats/vocabulary.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { asNumber, asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { type FailedAttempt, statusFor } from '../failures/failure.ts'
import type { Attempts, FallbackStep, RateDelay } from '../request/attempts.ts'
import type { RequestState, Routed, RoutingPlan, Unguarded } from '../request/inference-request.ts'
import type { PipelineStage } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'
import {
  type ExpirationNotice,
  type ExplainedDecision,
  explainDecision,
  type HealthSnapshot,
  type RoutingOutcome,
  type UpstreamAttempt,
} from '../routing/explain.ts'
import { describeGuardrailStages } from './guardrail-stages.ts'

/** The `service_metadata` of a request, up to its current attempt. */
export function buildMetadata(request: Routed): JsonObject {
  return {
    ...explainDecision(describeDecision(request, request.plan), describePath(request, null)),
    ...describePipeline(request),
  }
}

const noSnapshot: HealthSnapshot = new Map()
const noSplits: readonly never[] = []

export function describeDecision(request: Unguarded<RequestState>, plan: RoutingPlan): ExplainedDecision {
  const { options, region, content, rule } = request
  const requested = content.received.model ?? options.routed?.requested ?? options.models[0] ?? ''
  return {
    ...plan,
    requested: requested.slice(0, maxNameLength),
    slugs: options.models,
    routed: options.routed ?? null,
    rule,
    isAlias: options.notices?.[0]?.name === requested.split(':')[0],
    expirations: listExpirations(request, plan),
    splits: options.splits ?? noSplits,
    region,
    params: collectRoutingParams(request, plan),
    healthSnapshot: plan.healthSnapshot ?? noSnapshot,
  }
}

/** Of the names in the request, and of the models that they resolved to. */
function listExpirations(
  { options, at }: Unguarded<RequestState>,
  { resolvedModels }: RoutingPlan,
): ExpirationNotice[] {
  const named = (options.notices ?? []).flatMap(({ models: _, expires_at, ...notice }) =>
    expires_at === null ? [] : [{ ...notice, name: notice.name.slice(0, maxNameLength), expires_at }],
  )
  const ofModels = resolvedModels.flatMap(({ model: { id, expiration_date, replacement } }) =>
    expiration_date === null
      ? []
      : [
          {
            name: id,
            type: 'model' as const,
            expires_at: `${expiration_date}T00:00:00.000Z`,
            replacement,
            is_expired: at >= Date.parse(expiration_date),
          },
        ],
  )
  return [...named, ...ofModels]
}

/** The requested name is unbounded: suffixes can be repeated. */
const maxNameLength = 256

/** The routing parameters of the request, under their API names. */
function collectRoutingParams(
  { options, content }: Unguarded<RequestState>,
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

/**
 * Adds `service_metadata` to the error of a request that was routed, if it was requested. Internal errors are only
 * logged.
 */
export function explainError(request: Unguarded<RequestState>, error: unknown): void {
  const { plan, options, hold } = request
  if (!plan || !options.wantsMetadata || !(error instanceof GatewayError) || error.serviceMetadata) return
  error.serviceMetadata = {
    ...explainDecision(describeDecision(request, plan), hold && describePath(request, error)),
    ...describePipeline(request),
  }
}

/** A request that waited for the rate of a provider, or passed over endpoints whose rate was nearly used. */
interface DescribedDelay {
  priority: Priority
  waited_ms: number
  passed_over: { model: string; endpoint: string }[]
}

/**
 * The steps besides the model, the models that were not requested first, and what the rates of providers changed: only
 * what acted.
 */
export function describePipeline({ hits, work, keyContext, attempts, options }: Unguarded<RequestState>): {
  fallbacks?: readonly FallbackStep[]
  rates?: DescribedDelay
  pipeline?: PipelineStage[]
} {
  const compression = attempts.translation?.compression
  const caching = describePromptCaching(attempts)
  const pipeline = [
    ...describeGuardrailStages(hits ?? [], keyContext.guardrailIds),
    ...(compression ? [compression] : []),
    ...(caching ? [caching] : []),
    ...(work?.stages ?? []),
  ]
  return {
    ...(attempts.fallbacks && { fallbacks: attempts.fallbacks }),
    ...(attempts.queue && { rates: describeDelay(attempts.queue, options.priority) }),
    ...(pipeline.length > 0 && { pipeline }),
  }
}

function describeDelay({ waitedMs, passedOver }: RateDelay, priority: Priority): DescribedDelay {
  return {
    priority,
    waited_ms: Math.round(waitedMs),
    passed_over: passedOver.map(({ model, endpoint }) => ({ model: model.id, endpoint: endpoint.tag })),
  }
}

/** Of breakpoints that the gateway added, and of what the provider's prompt cache saved; null without both. */
function describePromptCaching({ translation, cacheSavings }: Attempts): PipelineStage | null {
  const breakpoints = translation?.cacheBreakpoints ?? 0
  if (breakpoints === 0 && !cacheSavings) return null
  return {
    type: 'prompt_caching',
    name: 'prompt_caching',
    data: {
      breakpoints,
      ...(cacheSavings !== undefined && { cache_savings: usdFromNanos(cacheSavings) }),
    },
  }
}

function describePath(request: Unguarded<RequestState>, error: GatewayError | null): RoutingOutcome {
  const now = performance.now()
  const { startedAt, attempts } = request
  const { candidate, failed, lastStartedAt } = attempts
  const described = failed.map((attempt) => describeAttempt(attempt, startedAt))
  // The last attempt has either failed already, or is the current one.
  const hasFailed = failed.at(-1)?.startedAt === lastStartedAt
  if (candidate && !hasFailed) described.push(describeCurrentAttempt(candidate, request, error, now))
  return {
    attempts: described,
    servedBy: error || hasFailed ? null : candidate,
    lastCandidate: candidate,
    generationMs: candidate && now - lastStartedAt,
    firstTokenMs: attempts.firstTokenMs,
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

/** Describes the last attempt: if the client's error is a failure of the provider, this attempt caused it. */
function describeCurrentAttempt(
  { model, endpoint, byokKey }: Candidate,
  { startedAt, attempts: { lastStartedAt } }: Unguarded<RequestState>,
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
    startedMs: lastStartedAt - startedAt,
    durationMs: now - lastStartedAt,
  }
}
