import { healthIdOf } from '../../catalog/health/health-id.ts'
import type { ResolvedModel } from '../../catalog/lookup.ts'
import type { Model } from '../../catalog/model.ts'
import { findModelOrRouter } from '../../catalog/router-models.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import { isReasoningRequested } from '../../formats/call/reasoning.ts'
import { estimatePromptTokens } from '../../formats/call/size.ts'
import { tasks } from '../../formats/vocabulary.ts'
import type { KeyContext } from '../../gateway/account-cache.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { RequestState, Routed, RoutingPlan } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { completeRoute, findQualityFloor } from '../routing/decide.ts'
import { takeHealthSnapshot } from '../routing/explain.ts'
import { type Exclusion, type PreparedRoute, prepareRoute } from '../routing/prepare.ts'
import type { RoutedPrompt, RoutingQuery } from '../routing/query.ts'
import type { RoutingState } from '../routing/rank.ts'
import { hashConversationStart } from '../routing/sticky.ts'
import { addFallback, checkFallbacks, listFallbacks } from './fallback.ts'
import { preferRoomiest } from './roomiest.ts'

/** Finds where a request may be sent; throws if that is nowhere. */
export function planRoute<R extends RequestState>(gateway: Gateway, request: R): Routed<R> {
  if (request.options.fallbacks)
    checkFallbacks(request, (slug) => requireModel(gateway, slug, request, 'fallbacks'))
  const plan = buildPlan(gateway, request)
  request.plan = plan
  if (plan.candidates.length === 0 && !fallBackFromLimit(gateway, request, plan))
    throw noCandidateError(gateway, request.options.models, plan)
  return request as Routed<R>
}

/** Whether another model serves the request because all providers of the requested ones are rate limited. */
function fallBackFromLimit(gateway: Gateway, request: RequestState, { exclusions }: RoutingPlan): boolean {
  const from = exclusions.find(isRateLimited)?.model
  if (!from) return false
  for (const fallback of listFallbacks(gateway, request, { reason: 'rate_limit', from }, buildPlan)) {
    addFallback(request, fallback)
    return true
  }
  return false
}

export function assertRoutable(gateway: Gateway, { options }: RequestState, plan: RoutingPlan): void {
  if (plan.candidates.length === 0) throw noCandidateError(gateway, options.models, plan)
}

/** The routing decision, also if it has no candidates. */
export function buildPlan(
  gateway: Gateway,
  request: RequestState,
  random: RoutingState['random'] = gateway.routing.random,
): RoutingPlan {
  const { resolvedModels, prepared } = findRoute(gateway, request)
  const { health, sticky } = gateway.routing
  const now = gateway.clock.now()
  const state = { health, benchmarks: gateway.benchmarks.current, random, now }
  const query = buildRoutingQuery(gateway, request, resolvedModels)
  const decided = completeRoute(prepared, query, state, (conversation) => sticky.find(conversation, now))
  const decision = request.work ? preferRoomiest(request, request.work, decided) : decided
  const { wantsMetadata } = request.options
  return {
    ...decision,
    resolvedModels,
    healthSnapshot: wantsMetadata ? takeHealthSnapshot(decision, state) : null,
    qualityFloor: wantsMetadata ? findQualityFloor(query, decision, state) : null,
  }
}

/** The models of a request and where they may be requested. */
interface Route {
  resolvedModels: ResolvedModel[]
  prepared: PreparedRoute
}

interface StoredRoutes {
  catalog: Gateway['catalog']
  routes: Map<string, Route>
}

/** Routes of plain requests. The context of a key is replaced when anything about it changes. */
const routesByContext = new WeakMap<KeyContext, StoredRoutes>()
/** Routes stored for one key. */
const maxRoutes = 100
/** Characters of a name in the cache: a client can repeat suffixes without limit. */
const maxNameLength = 256

function findRoute(gateway: Gateway, request: RequestState): Route {
  const { content, work, options, region, keyContext, rule } = request
  if (!content.plain || work || rule || options.models.length > 1) return createRoute(gateway, request)
  const { catalog } = gateway
  let stored = routesByContext.get(keyContext)
  if (stored?.catalog !== catalog) {
    stored = { catalog, routes: new Map() }
    routesByContext.set(keyContext, stored)
  }
  const name = `${region} ${options.models[0]}`
  const known = stored.routes.get(name)
  if (known) return known
  const route = createRoute(gateway, request)
  if (stored.routes.size >= maxRoutes) stored.routes.clear()
  if (name.length <= maxNameLength) stored.routes.set(name, route)
  return route
}

function createRoute(gateway: Gateway, request: RequestState): Route {
  const named = request.options.models.map((slug) => requireModel(gateway, slug, request))
  const resolvedModels = dropMandatoryReasoning(request, named)
  return { resolvedModels, prepared: prepareRoute(buildRoutingQuery(gateway, request, resolvedModels)) }
}

/** Whether a model whose reasoning is mandatory cannot serve the request, because it turns reasoning off. */
export function rejectsMandatoryReasoning({ format, content }: RequestState): boolean {
  if (content.plain || !format.requestCodec?.rejectsMandatoryReasoning) return false
  return isReasoningRequested(content.call.reasoning) === false
}

/**
 * Drops models whose reasoning is mandatory if the request turns reasoning off. A `latest` alias is exempt and reasons
 * as little as possible, because the client could not know which model it resolves to.
 */
function dropMandatoryReasoning(request: RequestState, resolvedModels: ResolvedModel[]): ResolvedModel[] {
  if (!rejectsMandatoryReasoning(request)) return resolvedModels
  const allowed = resolvedModels.filter(({ model, latest }) => latest !== null || !model.reasoning?.mandatory)
  const [first] = resolvedModels
  if (allowed.length > 0 || !first) return allowed
  const efforts = first.model.reasoning?.supported_efforts?.join(', ')
  throw invalidFieldError(
    'reasoning',
    `cannot be disabled for ${first.model.id}${efforts ? `; supported efforts: ${efforts}` : ''}`,
  )
}

export function buildRoutingQuery(
  gateway: Gateway,
  request: RequestState,
  resolvedModels: ResolvedModel[],
): RoutingQuery {
  const { options, region, keyContext, work, content } = request
  return {
    models: resolvedModels,
    isSplit: options.splits !== undefined,
    preferences: options.preferences,
    defaultSort: keyContext.defaultSort,
    task: request.format.task,
    prompt: work?.routingCall ? describePrompt(work.routingCall) : content,
    region,
    policy: keyContext.policy,
    byokKeys: keyContext.byokKeys,
    providerByName: gateway.catalog.providerByName,
    stickyKeyFor: (modelId) => (gateway.routing.sticky.isEmpty ? null : computeStickyKey(request, modelId)),
  }
}

function describePrompt(call: ModelCall): RoutedPrompt {
  return { plain: null, call, promptTokens: estimatePromptTokens(call) }
}

/** The same for all turns of a conversation: from its session id, or from a hash of its first messages. */
export function computeStickyKey({ caller, options, content }: RequestState, modelId: string): string {
  const conversation =
    options.sessionId === null ? hashConversationStart(content.call) : `"${options.sessionId}"`
  return `${caller.organizationId} ${modelId} ${conversation}`
}

function requireModel(
  gateway: Gateway,
  slug: string,
  { options, format }: RequestState,
  param = 'model',
): ResolvedModel {
  const resolved = findModelOrRouter(gateway.catalog, slug)
  const requested = options.models.map(truncateSlug)
  if (!resolved) {
    throw new GatewayError('model_unknown', {
      message: `${param}: "${truncateSlug(slug)}" is not in the catalog. List the models with GET /models.`,
      param,
      availability: { code: 'model_not_found', retryable: false, requested_models: requested },
    })
  }
  const { model } = resolved
  const outputs: readonly string[] = tasks[format.task].outputs
  if (model.output_modalities.some((modality) => outputs.includes(modality))) return resolved
  throw new GatewayError('model_wrong_endpoint', {
    message: `${param}: "${truncateSlug(slug)}" outputs ${model.output_modalities.join(', ')}, not ${outputs[0]}. Use the endpoint for that output.`,
    param,
    availability: { code: 'wrong_endpoint', retryable: false, requested_models: requested },
  })
}

/** Slugs are echoed in errors, bounded. */
function truncateSlug(slug: string): string {
  return slug.length > 100 ? `${slug.slice(0, 100)}...` : slug
}

/** Guardrails that exclude every endpoint block the request; a rate limit is worth a retry; otherwise no endpoint fits. */
function noCandidateError(
  gateway: Gateway,
  requested: string[],
  { exclusions, resolvedModels }: RoutingPlan,
): GatewayError {
  const reasons = [...new Set(exclusions.map(({ reason }) => reason))]
  if (reasons.length > 0 && reasons.every((reason) => reason.startsWith('guardrail:'))) {
    const fields = reasons.map((reason) => reason.slice('guardrail:'.length))
    return gatewayError('guardrail_blocked', `A guardrail blocked this request (${fields.join(', ')}).`)
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
      message: `No provider of ${requested.map(truncateSlug).join(', ')} is configured on this gateway.`,
      param: 'model',
    }),
    availability: {
      code: isFiltered ? 'constraint_filtered' : 'no_endpoints',
      retryable: false,
      requested_models: requested.map(truncateSlug),
      ...(isFiltered && { excluded_by: reasons }),
      affected_providers: listProviderSlugs(resolvedModels.map(({ model }) => model)),
    },
  })
}

function listProviderSlugs(models: Model[]): string[] {
  return [...new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider.slug)))]
}

function isRateLimited({ reason }: Exclusion): boolean {
  return reason === 'rate_limited'
}

/** Every provider is cooling down: a retry is useless until the first cooldown ends. */
export function rateLimitedError(
  gateway: Gateway,
  requested: string[],
  ids: readonly Candidate['id'][],
): GatewayError {
  const now = gateway.clock.now()
  const until = Math.min(...ids.map((id) => gateway.routing.health.find(id)?.cooldownUntil ?? now))
  const seconds = Math.max(1, Math.ceil((until - now) / 1000))
  return new GatewayError('upstream_rate_limited', {
    message: `Rate limited by every provider of this model; retry after ${seconds} s.`,
    availability: {
      code: 'capacity_exhausted',
      retryable: true,
      requested_models: requested.map(truncateSlug),
      retry_after: seconds,
    },
    headers: { 'retry-after': String(seconds) },
  })
}
