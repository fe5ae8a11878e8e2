import { estimatePromptTokens } from '../call/size.ts'
import type { ResolvedModel } from '../catalogue/lookup.ts'
import type { Endpoint, Model } from '../catalogue/model.ts'
import { listDialects } from '../catalogue/vocabulary.ts'
import { isUnrestricted } from '../policy/guard.ts'
import { type Candidate, createCandidate } from './candidate.ts'
import {
  type ExclusionReason,
  expandQuantizations,
  type FilterRules,
  findExclusion,
  findSharedExclusion,
  hasFeatures,
  isByokKeyUsable,
  isWithinContext,
  listModalities,
  listNeededFeatures,
  listSentParameters,
  parseMaxPrice,
} from './filter.ts'
import { healthIdOf } from './health-id.ts'
import { isUnpartitioned, type RoutingQuery, resolveSort, resolveTiers, type TierAccess } from './query.ts'
import { computeMinToolSuccess, type RankingOptions, type RoutingState, rankCandidates } from './rank.ts'
import { findSelectorIndex, resolveSelectors } from './selectors.ts'

/** An endpoint that is not a candidate, and why. */
export interface Exclusion {
  model: Model
  endpoint: Endpoint
  /** The BYOK key it applies to; null: the installation's credential. */
  byokKeyId: string | null
  reason: ExclusionReason
}

export interface RoutingDecision {
  /** Best first. */
  candidates: Candidate[]
  exclusions: Exclusion[]
}

/** Where a request may be sent. Pure: the same query and state give the same decision. */
export function decideRoute(
  query: RoutingQuery,
  state: RoutingState,
  findSticky: StickyLookup,
): RoutingDecision {
  const rules = buildRules(query)
  const exclusions: Exclusion[] = []
  const groups = query.models.map((resolved) => listModelCandidates(resolved, rules, state, exclusions))
  const suitable = preferByModality(groups, query, exclusions)
  const candidates = isUnpartitioned(query)
    ? orderCandidates(suitable.flat(), query, query.models[0], rules, state, findSticky)
    : suitable.flatMap((group, index) =>
        orderCandidates(group, query, query.models[index], rules, state, findSticky),
      )
  const distinct = query.models.length < 2 ? candidates : dedupeCandidates(candidates)
  return { candidates: applyAllowFallbacks(distinct, rules, state, exclusions), exclusions }
}

/** The success rate of tool calls below which endpoints of the first model were ranked lower; null: none was. */
export function findQualityFloor(
  query: RoutingQuery,
  { candidates }: RoutingDecision,
  state: Pick<RoutingState, 'now'>,
): number | null {
  const [first] = query.models
  if (!first || !hasTools(query) || query.preferences.order?.length || resolveSort(query, first)) return null
  const ofFirst = candidates.filter(({ model, byokKey }) => model === first.model && !byokKey)
  return computeMinToolSuccess(ofFirst, state)
}

function hasTools({ call }: RoutingQuery): boolean {
  return (call.tools?.length ?? 0) > 0
}

/** Several names may resolve to one model, whose endpoints are tried once. */
function dedupeCandidates(candidates: readonly Candidate[]): Candidate[] {
  const seenIds = new Set<string>()
  return candidates.filter(({ id }) => !seenIds.has(id) && seenIds.add(id))
}

/** Whether some endpoint of the model may be used with some credential, for any task that the model serves. */
export function hasUsableEndpoint(model: Model, query: RoutingQuery): boolean {
  const rules = buildRules(query)
  const { byokKeys } = query
  const dialects = listDialects(model.output_modalities)
  return model.endpoints.some((endpoint) => {
    const reason = findExclusion(rules, allTiers, model, endpoint)
    if (reason !== undefined && reason !== 'dialect') return false
    if (!endpoint.dialects.some((name) => dialects.has(name))) return false
    if (findSharedExclusion(rules, model, endpoint, byokKeys) === undefined) return true
    return byokKeys.some((key) => isByokKeyUsable(rules, model, endpoint, key))
  })
}

/**
 * The candidates of each model that can serve the request: everything it needs is required, also where a request for
 * that model alone would be tried. Not ranked. Without those that are cooling down or ejected, unless a model has no other.
 */
export function listServingCandidates(query: RoutingQuery, state: RoutingState): Map<Model, Candidate[]> {
  const rules = buildRules(query)
  const hasNeeded = createFeatureCheck(rules)
  const modalities = listModalities(query.call)
  const promptTokens = estimatePromptTokens(query.call)
  const serving = new Map<Model, Candidate[]>()
  for (const resolved of query.models) {
    const { model } = resolved
    if (!modalities.every((modality) => model.input_modalities.includes(modality))) continue
    const fitting = listPermittedCandidates(model, rules, resolveTiers(query, resolved), state, []).filter(
      (candidate) =>
        (hasNeeded?.(candidate) ?? true) &&
        isWithinContext(candidate.endpoint, promptTokens, query.call.maxTokens),
    )
    const healthy = excludeUnhealthy(fitting, state, [])
    if (healthy.length > 0) serving.set(model, healthy)
  }
  return serving
}

/** A request may select any tier. */
const allTiers: TierAccess = { priority: 'yes', flex: 'yes' }

/** The id of the candidate that served the last turn of the conversation. */
export type StickyLookup = (stickyKey: string) => string | null

function buildRules(query: RoutingQuery): FilterRules {
  const { preferences, providerByName, call, policy } = query
  return {
    query,
    hasGuardrails: !isUnrestricted(policy),
    distillableOnly: preferences.enforce_distillable_text === true,
    noTraining: preferences.data_collection === 'deny',
    noRetention: preferences.zdr === true || preferences.data_collection === 'deny',
    only: resolveSelectors(preferences.only, providerByName),
    ignore: resolveSelectors(preferences.ignore, providerByName),
    order: resolveSelectors(preferences.order, providerByName),
    requiredParameters: preferences.require_parameters ? listSentParameters(call) : null,
    quantizations: expandQuantizations(preferences),
    maxPrice: parseMaxPrice(preferences),
  }
}

/** The candidates of one model, not ranked yet. */
function listModelCandidates(
  resolved: ResolvedModel,
  rules: FilterRules,
  state: RoutingState,
  exclusions: Exclusion[],
): Candidate[] {
  const tiers = resolveTiers(rules.query, resolved)
  const candidates = preferFlexTier(
    listPermittedCandidates(resolved.model, rules, tiers, state, exclusions),
    tiers,
    exclusions,
  )
  const capable = preferMatching(candidates, 'unsupported_feature', exclusions, createFeatureCheck(rules))
  return excludeUnhealthy(
    preferMatching(capable, 'context_length', exclusions, createContextCheck(capable, rules)),
    state,
    exclusions,
  )
}

/** Each endpoint with each credential that may be used. */
function listPermittedCandidates(
  model: Model,
  rules: FilterRules,
  tiers: TierAccess,
  { health }: RoutingState,
  exclusions: Exclusion[],
): Candidate[] {
  const { byokKeys } = rules.query
  const candidates: Candidate[] = []
  const endpoints = byokKeys.length > 0 ? model.endpoints : model.callable
  const known = health.findAll(endpoints)
  endpoints.forEach((endpoint, index) => {
    const reason = findExclusion(rules, tiers, model, endpoint)
    if (reason) {
      exclusions.push({ model, endpoint, byokKeyId: null, reason })
      return
    }
    for (const key of byokKeys) {
      if (!isByokKeyUsable(rules, model, endpoint, key)) continue
      candidates.push(createCandidate(model, endpoint, key, health.find(healthIdOf(endpoint.id, key.id))))
    }
    const sharedReason = findSharedExclusion(rules, model, endpoint, byokKeys)
    if (sharedReason) exclusions.push({ model, endpoint, byokKeyId: null, reason: sharedReason })
    else candidates.push(createCandidate(model, endpoint, null, known[index]))
  })
  return candidates
}

/** A request for the flex tier uses no other tier, if the model has it. */
function preferFlexTier(candidates: Candidate[], tiers: TierAccess, exclusions: Exclusion[]): Candidate[] {
  if (tiers.flex !== 'only') return candidates
  return preferMatching(
    candidates,
    'service_tier',
    exclusions,
    ({ endpoint }) => endpoint.service_tier === 'flex',
  )
}

/** The candidates that match; all of them if none does. */
function preferMatching(
  candidates: Candidate[],
  reason: ExclusionReason,
  exclusions: Exclusion[],
  matches: ((candidate: Candidate) => boolean) | null,
): Candidate[] {
  if (candidates.length < 2 || !matches) return candidates
  const matching = candidates.filter(matches)
  if (matching.length === 0 || matching.length === candidates.length) return candidates
  for (const candidate of candidates)
    if (!matching.includes(candidate)) exclude(exclusions, candidate, reason)
  return matching
}

function exclude(
  exclusions: Exclusion[],
  { model, endpoint, byokKey }: Candidate,
  reason: ExclusionReason,
): void {
  exclusions.push({ model, endpoint, byokKeyId: byokKey?.id ?? null, reason })
}

function createFeatureCheck({ query }: FilterRules): ((candidate: Candidate) => boolean) | null {
  const features = listNeededFeatures(query.call)
  return features.length === 0 ? null : ({ endpoint }) => hasFeatures(endpoint, features)
}

function createContextCheck(
  candidates: readonly Candidate[],
  { query }: FilterRules,
): ((candidate: Candidate) => boolean) | null {
  // The inputs of other tasks are separate prompts.
  if (candidates.length < 2 || query.task !== 'text') return null
  const promptTokens = estimatePromptTokens(query.call)
  const { maxTokens } = query.call
  return ({ endpoint }) => isWithinContext(endpoint, promptTokens, maxTokens)
}

/**
 * Removes candidates that are cooling down or ejected. If every available candidate of the model is ejected,
 * all of them remain: failures never remove the last provider of a model.
 */
function excludeUnhealthy(
  candidates: Candidate[],
  { now }: RoutingState,
  exclusions: Exclusion[],
): Candidate[] {
  if (!candidates.some(({ health }) => health?.isCoolingDown(now) || health?.isEjected(now)))
    return candidates
  const available: Candidate[] = []
  const healthy: Candidate[] = []
  for (const candidate of candidates) {
    const { health } = candidate
    if (health?.isCoolingDown(now)) exclude(exclusions, candidate, 'rate_limited')
    else {
      available.push(candidate)
      if (!health?.isEjected(now)) healthy.push(candidate)
    }
  }
  if (healthy.length === available.length) return available
  if (healthy.length === 0) return available.map((candidate) => Object.assign(candidate, { why: 'ejected' }))
  for (const candidate of available)
    if (!healthy.includes(candidate)) exclude(exclusions, candidate, 'ejected')
  return healthy
}

/** Of several models, those that accept the modalities of the prompt; a single model is always tried. */
function preferByModality(
  groups: Candidate[][],
  { models, call }: RoutingQuery,
  exclusions: Exclusion[],
): Candidate[][] {
  if (models.length < 2) return groups
  const modalities = listModalities(call)
  const isSupported = ({ model }: ResolvedModel) =>
    modalities.every((modality) => model.input_modalities.includes(modality))
  if (
    modalities.length === 0 ||
    !models.some((resolved, index) => isSupported(resolved) && groups[index]?.length)
  )
    return groups
  return groups.map((group, index) => {
    const resolved = models[index]
    if (!resolved || isSupported(resolved)) return group
    for (const candidate of group) exclude(exclusions, candidate, 'modality')
    return []
  })
}

/** BYOK keys first, then shared capacity, then BYOK keys that are marked as fallback. */
function orderCandidates(
  candidates: Candidate[],
  query: RoutingQuery,
  resolved: ResolvedModel | undefined,
  rules: FilterRules,
  state: RoutingState,
  findSticky: StickyLookup,
): Candidate[] {
  if (!resolved || candidates.length < 2) return candidates
  const options: RankingOptions = {
    order: rules.order,
    sort: resolveSort(query, resolved),
    tiers: resolveTiers(query, resolved),
    findStickyId: () => {
      const stickyKey = query.stickyKeyFor(resolved.model.id)
      return stickyKey === null ? null : findSticky(stickyKey)
    },
    hasTools: hasTools(query),
    preferences: query.preferences,
  }
  if (query.byokKeys.length === 0) return rankCandidates(candidates, options, state)
  const byok = candidates.filter(({ byokKey }) => byokKey && !byokKey.isFallback)
  const shared = candidates.filter(({ byokKey }) => !byokKey)
  const fallback = candidates.filter(({ byokKey }) => byokKey?.isFallback)
  return [byok, shared, fallback].flatMap((group) => rankCandidates(group, options, state))
}

/**
 * Without fallbacks: the endpoints that `order` lists, or else the first choice of each model. Where load
 * balancing was not carried out (a quote), that is every candidate it could pick. Other models stay: the client listed them.
 */
function applyAllowFallbacks(
  candidates: Candidate[],
  { query, order }: FilterRules,
  { random }: RoutingState,
  exclusions: Exclusion[],
): Candidate[] {
  if (query.preferences.allow_fallbacks !== false) return candidates
  const tiers = new Map(query.models.map((resolved) => [resolved.model, resolveTiers(query, resolved)]))
  const isListed = ({ model, endpoint }: Candidate) => {
    const tierAccess = tiers.get(model)
    return order !== null && tierAccess !== undefined && findSelectorIndex(order, endpoint, tierAccess) !== -1
  }
  const isFirst = (candidate: Candidate) => {
    const first = candidates.find(({ model }) => model === candidate.model)
    return candidate === first || (random === null && first?.share != null && (candidate.share ?? 0) > 0)
  }
  const retained = candidates.filter(order && order.length > 0 ? isListed : isFirst)
  for (const candidate of candidates)
    if (!retained.includes(candidate)) exclude(exclusions, candidate, 'allow_fallbacks')
  return retained
}
