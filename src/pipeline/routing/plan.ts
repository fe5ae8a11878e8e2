import type { Gateway } from '../../app/gateway.ts'
import { isReasoningRequested } from '../../call/reasoning.ts'
import { findModel, type ResolvedModel } from '../../catalogue/lookup.ts'
import type { Model } from '../../catalogue/model.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import type { Candidate } from '../../routing/candidate.ts'
import { decideRoute, type Exclusion, type RoutingDecision } from '../../routing/decide.ts'
import { type HealthSnapshot, takeHealthSnapshot } from '../../routing/explain.ts'
import { healthIdOf } from '../../routing/health.ts'
import type { RoutingQuery } from '../../routing/query.ts'
import type { RoutingState } from '../../routing/rank.ts'
import { hashConversationStart } from '../../routing/sticky.ts'
import type { InferenceRequest } from '../request/inference-request.ts'

/** Where a request may go, best first. */
export interface RoutingPlan extends RoutingDecision {
  /** What its names of models stand for. */
  resolvedModels: ResolvedModel[]
  /** What was known of the endpoints, where somebody wants to be told. */
  healthSnapshot: HealthSnapshot | null
}

export function planRoute(gateway: Gateway, request: InferenceRequest): RoutingPlan {
  const plan = buildPlan(gateway, request)
  assertRoutable(gateway, request, plan)
  return plan
}

export function assertRoutable(gateway: Gateway, { options }: InferenceRequest, plan: RoutingPlan): void {
  if (plan.candidates.length === 0) throw noCandidateError(gateway, options.models, plan)
}

/** The decision, whatever it is: also that there is nowhere to go. */
export function buildPlan(
  gateway: Gateway,
  request: InferenceRequest,
  random: RoutingState['random'] = gateway.routing.random,
): RoutingPlan {
  const { models } = request.options
  const resolvedModels = dropMandatoryReasoning(
    request,
    models.map((slug) => requireModel(gateway, slug, models)),
  )
  const { health, sticky } = gateway.routing
  const now = gateway.clock.now()
  const world = { health, random, now }
  const decision = decideRoute(buildRoutingQuery(gateway, request, resolvedModels), world, (conversation) =>
    sticky.find(conversation, now),
  )
  return {
    ...decision,
    resolvedModels,
    healthSnapshot: request.options.wantsMetadata ? takeHealthSnapshot(decision, world) : null,
  }
}

/**
 * Without models that cannot help thinking, where that is refused in so many words. One that was only called
 * the latest of its family thinks as little as it can instead: nobody knew which it would be.
 */
function dropMandatoryReasoning(
  { format, content }: InferenceRequest,
  found: ResolvedModel[],
): ResolvedModel[] {
  if (
    !format.requestCodec.rejectsMandatoryReasoning ||
    isReasoningRequested(content.call.reasoning) !== false
  )
    return found
  const able = found.filter(({ model, latest }) => latest !== null || !model.reasoning?.mandatory)
  const [first] = found
  if (able.length > 0 || !first) return able
  const efforts = first.model.reasoning?.supported_efforts?.join(', ')
  throw invalidFieldError(
    'reasoning',
    `cannot be switched off: ${first.model.id} always thinks${efforts ? ` (${efforts})` : ''}`,
  )
}

function buildRoutingQuery(
  gateway: Gateway,
  request: InferenceRequest,
  found: ResolvedModel[],
): RoutingQuery {
  const { options, content, region, keyContext } = request
  return {
    models: found,
    preferences: options.routing,
    call: content.call,
    region,
    policy: keyContext.policy,
    byokKeys: keyContext.byokKeys,
    providerByName: gateway.catalogue.providerByName,
    stickyKeyFor: (modelId) => (gateway.routing.sticky.isEmpty ? null : stickyKeyOf(request, modelId)),
  }
}

/** What the turns of one conversation have in common: the name the client gave it, or how it begins. */
export function stickyKeyOf({ caller, options, content }: InferenceRequest, modelId: string): string {
  const talk = options.sessionId === null ? hashConversationStart(content.call) : `"${options.sessionId}"`
  return `${caller.organizationId} ${modelId} ${talk}`
}

function requireModel(gateway: Gateway, slug: string, requested: string[]): ResolvedModel {
  const found = findModel(gateway.catalogue, slug)
  if (!found) {
    throw new GatewayError('model_unknown', {
      message: `model: "${truncateSlug(slug)}" is not a model of this gateway.`,
      param: 'model',
      availability: {
        code: 'model_not_found',
        retryable: false,
        requested_models: requested.map(truncateSlug),
      },
    })
  }
  const { model } = found
  if (
    model.output_modalities.some(
      (modality) => modality === 'text' || modality === 'image' || modality === 'audio',
    )
  ) {
    return found
  }
  throw new GatewayError('model_wrong_endpoint', {
    message: `model: "${truncateSlug(slug)}" makes ${model.output_modalities.join(', ')}, not text.`,
    param: 'model',
    availability: { code: 'wrong_endpoint', retryable: false, requested_models: requested.map(truncateSlug) },
  })
}

/** What a client wrote is repeated to it, but not at any length. */
function truncateSlug(slug: string): string {
  return slug.length > 100 ? `${slug.slice(0, 100)}...` : slug
}

/** All of it because of a guardrail is a refusal, all of it asked to wait a reason to wait; else nobody fits. */
function noCandidateError(
  gateway: Gateway,
  requested: string[],
  { exclusions, resolvedModels }: RoutingPlan,
): GatewayError {
  const reasons = [...new Set(exclusions.map(({ reason }) => reason))]
  if (reasons.length > 0 && reasons.every((reason) => reason.startsWith('guardrail:'))) {
    const fields = reasons.map((reason) => reason.slice('guardrail:'.length))
    return gatewayError(
      'guardrail_blocked',
      `A guardrail does not allow this request (${fields.join(', ')}).`,
    )
  }
  if (reasons.includes('rate_limited'))
    return rateLimitedError(
      gateway,
      requested,
      exclusions.filter(isRateLimited).map(({ endpoint, byokKeyId }) => healthIdOf(endpoint.id, byokKeyId)),
    )
  const isFiltered = reasons.some((reason) => reason !== 'no_credential')
  return new GatewayError(isFiltered ? 'no_provider' : 'no_endpoints', {
    ...(!isFiltered && {
      message: `No provider of ${requested.map(truncateSlug).join(', ')} is set up here.`,
      param: 'model',
    }),
    availability: {
      code: isFiltered ? 'constraint_filtered' : 'no_endpoints',
      retryable: false,
      requested_models: requested.map(truncateSlug),
      ...(isFiltered && { excluded_by: reasons }),
      affected_providers: providerSlugs(resolvedModels.map(({ model }) => model)),
    },
  })
}

function providerSlugs(models: Model[]): string[] {
  return [...new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider.slug)))]
}

function isRateLimited({ reason }: Exclusion): boolean {
  return reason === 'rate_limited'
}

/** Every provider said how long it wants to be left alone: until the first of them is back there is no use in asking. */
export function rateLimitedError(
  gateway: Gateway,
  requested: string[],
  ids: readonly Candidate['id'][],
): GatewayError {
  const now = gateway.clock.now()
  const until = Math.min(...ids.map((id) => gateway.routing.health.find(id)?.cooldownUntil ?? now))
  const seconds = Math.max(1, Math.ceil((until - now) / 1000))
  return new GatewayError('upstream_rate_limited', {
    message: `Every provider of this model has asked to be left alone; the first is back in ${seconds} s.`,
    availability: {
      code: 'capacity_exhausted',
      retryable: true,
      requested_models: requested.map(truncateSlug),
      retry_after: seconds,
    },
    headers: { 'retry-after': String(seconds) },
  })
}
