import type { ResolvedModel } from '../../catalog/lookup.ts'
import type { Model } from '../../catalog/model.ts'
import type { Candidate } from './candidate.ts'
import { type FilterRules, isWithinContext, listModalities } from './filter.ts'
import {
  buildRules,
  createFeatureCheck,
  type Exclusion,
  exclude,
  listPermittedCandidates,
  type PreparedRoute,
  preferMatching,
} from './prepare.ts'
import { isUnpartitioned, type RoutingQuery, resolveSort, resolveTiers } from './query.ts'
import { computeMinToolSuccess, type RankingOptions, type RoutingState, rankCandidates } from './rank.ts'
import { findSelectorIndex } from './selectors.ts'

export interface RoutingDecision {
  /** Candidates, best first. */
  candidates: Candidate[]
  exclusions: Exclusion[]
}

/** Decides where a request may be sent. Pure: the same query and state give the same decision. */
export function completeRoute(
  prepared: PreparedRoute,
  query: RoutingQuery,
  state: RoutingState,
  findSticky: StickyLookup,
): RoutingDecision {
  const exclusions = [...prepared.exclusions]
  const groups: Candidate[][] = []
  for (const group of prepared.groups) groups.push(listAvailable(group, query, state, exclusions))
  const [only = []] = groups
  const isDecided = groups.length === 1 && only.length < 2 && query.preferences.allow_fallbacks !== false
  if (isDecided) return { candidates: only, exclusions }
  const rules = { ...prepared.rules, query }
  const suitable = preferByModality(groups, query, exclusions)
  const order = (group: Candidate[], resolved: ResolvedModel | undefined) => {
    if (!resolved || group.length < 2) return group
    return rankGroup(group, buildRankingOptions(resolved, rules, findSticky), state)
  }
  const candidates = isUnpartitioned(query)
    ? order(suitable.flat(), query.models[0])
    : suitable.flatMap((group, index) => order(group, query.models[index]))
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

function hasTools({ prompt }: RoutingQuery): boolean {
  return !prompt.plain && (prompt.call.tools?.length ?? 0) > 0
}

/** Several names may resolve to one model, whose endpoints are tried once. */
function dedupeCandidates(candidates: readonly Candidate[]): Candidate[] {
  const seenIds = new Set<string>()
  return candidates.filter(({ id }) => !seenIds.has(id) && seenIds.add(id))
}

/**
 * The candidates of each model that can serve the request: everything it needs is required, also where a request for
 * that model alone would be tried. Not ranked. Without those that are cooling down or ejected, unless a model has no other.
 */
export function listServingCandidates(query: RoutingQuery, state: RoutingState): Map<Model, Candidate[]> {
  const rules = buildRules(query)
  const hasNeeded = createFeatureCheck(rules)
  const { call, promptTokens } = query.prompt
  const modalities = listModalities(call)
  const serving = new Map<Model, Candidate[]>()
  for (const resolved of query.models) {
    const { model } = resolved
    if (!modalities.every((modality) => model.input_modalities.includes(modality))) continue
    const fitting = listPermittedCandidates(model, rules, resolveTiers(query, resolved), []).filter(
      (candidate) =>
        (hasNeeded?.(candidate) ?? true) && isWithinContext(candidate.endpoint, promptTokens, call.maxTokens),
    )
    const healthy = excludeUnhealthy(readHealth(fitting, state), state, [])
    if (healthy.length > 0) serving.set(model, healthy)
  }
  return serving
}

/** The id of the candidate that served the last turn of the conversation. */
export type StickyLookup = (stickyKey: string) => string | null

/** Lists the candidates that have room for the prompt and are healthy, not ranked yet. */
function listAvailable(
  suitable: readonly Candidate[],
  query: RoutingQuery,
  state: RoutingState,
  exclusions: Exclusion[],
): Candidate[] {
  const candidates = readHealth(suitable, state)
  const fitting =
    candidates.length < 2
      ? candidates
      : preferMatching(candidates, 'context_length', exclusions, createContextCheck(query))
  return excludeUnhealthy(fitting, state, exclusions)
}

/** Copies candidates with their health, because ranking changes them. */
function readHealth(candidates: readonly Candidate[], { health }: RoutingState): Candidate[] {
  const known = health.findAll(candidates)
  const copies: Candidate[] = []
  for (const candidate of candidates) copies.push({ ...candidate, health: known[copies.length] ?? null })
  return copies
}

function createContextCheck({ task, prompt }: RoutingQuery): ((candidate: Candidate) => boolean) | null {
  // The inputs of other tasks are separate prompts.
  if (task !== 'text') return null
  const { promptTokens } = prompt
  const { maxTokens } = prompt.plain ?? prompt.call
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
  let isAnyUnhealthy = false
  for (const { health } of candidates)
    isAnyUnhealthy ||= health !== null && (health.isCoolingDown(now) || health.isEjected(now))
  if (!isAnyUnhealthy) return candidates
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

/** Prefers, of several models, those that accept the modalities of the prompt; a single model is always tried. */
function preferByModality(
  groups: Candidate[][],
  { models, prompt }: RoutingQuery,
  exclusions: Exclusion[],
): Candidate[][] {
  if (models.length < 2 || prompt.plain) return groups
  const modalities = listModalities(prompt.call)
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

function buildRankingOptions(
  resolved: ResolvedModel,
  { query, order }: FilterRules,
  findSticky: StickyLookup,
): RankingOptions {
  return {
    order,
    sort: resolveSort(query, resolved),
    tiers: resolveTiers(query, resolved),
    findStickyId: () => {
      const stickyKey = query.stickyKeyFor(resolved.model.id)
      return stickyKey === null ? null : findSticky(stickyKey)
    },
    hasTools: hasTools(query),
    preferences: query.preferences,
  }
}

/** BYOK keys first, then shared capacity, then BYOK keys that are marked as fallback. */
function rankGroup(candidates: Candidate[], options: RankingOptions, state: RoutingState): Candidate[] {
  if (!candidates.some(({ byokKey }) => byokKey)) return rankCandidates(candidates, options, state)
  const byok = candidates.filter(({ byokKey }) => byokKey && !byokKey.isFallback)
  const shared = candidates.filter(({ byokKey }) => !byokKey)
  const fallback = candidates.filter(({ byokKey }) => byokKey?.isFallback)
  return [byok, shared, fallback].flatMap((group) => rankCandidates(group, options, state))
}

/**
 * Reduces the candidates of a request without fallbacks: to the endpoints that `order` lists, or else to the first
 * choice of each model. Where load balancing was not carried out (a quote), that is every candidate it could pick.
 * Other models stay: the client listed them.
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
