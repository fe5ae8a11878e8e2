import type { ResolvedModel } from '../../catalog/lookup.ts'
import type { Endpoint, Model } from '../../catalog/model.ts'
import { listWireFormats } from '../../formats/vocabulary.ts'
import { isUnrestricted } from '../../governance/policy/guard.ts'
import { type Candidate, createCandidate } from './candidate.ts'
import {
  type ExclusionReason,
  expandQuantizations,
  type FilterRules,
  findExclusion,
  findSharedExclusion,
  hasFeatures,
  isByokKeyUsable,
  listNeededFeatures,
  listSentParameters,
  parseMaxPrice,
} from './filter.ts'
import { type RoutingQuery, resolveTiers, type TierAccess } from './query.ts'
import { resolveSelectors } from './selectors.ts'

/** An endpoint that is not a candidate, and why. */
export interface Exclusion {
  model: Model
  endpoint: Endpoint
  /** The BYOK key it applies to; null: the installation's credential. */
  byokKeyId: string | null
  reason: ExclusionReason
}

/** The candidates of requests like one, whatever the length of their prompt and the health of endpoints. */
export interface PreparedRoute {
  /** Rules without the query, which holds a prompt. */
  rules: Omit<FilterRules, 'query'>
  /** Candidates of each model. */
  groups: readonly (readonly Candidate[])[]
  exclusions: readonly Exclusion[]
}

/** The same for all requests whose queries differ in a plain prompt only. */
export function prepareRoute(query: RoutingQuery): PreparedRoute {
  const rules = buildRules(query)
  const exclusions: Exclusion[] = []
  const groups = query.models.map((resolved) => listSuitableCandidates(resolved, rules, exclusions))
  const { query: _query, ...reusable } = rules
  return { rules: reusable, groups, exclusions }
}

/** Whether some endpoint of the model may be used with some credential, for any task that the model serves. */
export function hasUsableEndpoint(model: Model, query: RoutingQuery): boolean {
  const rules = buildRules(query)
  const { byokKeys } = query
  const wireFormats = listWireFormats(model.output_modalities)
  return model.endpoints.some((endpoint) => {
    const reason = findExclusion(rules, allTiers, model, endpoint)
    if (reason !== undefined && reason !== 'dialect') return false
    if (!endpoint.wireFormats.some((name) => wireFormats.has(name))) return false
    if (findSharedExclusion(rules, model, endpoint, byokKeys) === undefined) return true
    return byokKeys.some((key) => isByokKeyUsable(rules, model, endpoint, key))
  })
}

/** A request may select any tier. */
const allTiers: TierAccess = { priority: 'yes', flex: 'yes' }

export function buildRules(query: RoutingQuery): FilterRules {
  const { preferences, providerByName, prompt, policy } = query
  return {
    query,
    hasGuardrails: !isUnrestricted(policy),
    distillableOnly: preferences.enforce_distillable_text === true,
    noTraining: preferences.data_collection === 'deny',
    noRetention: preferences.zdr === true || preferences.data_collection === 'deny',
    only: resolveSelectors(preferences.only, providerByName),
    ignore: resolveSelectors(preferences.ignore, providerByName),
    order: resolveSelectors(preferences.order, providerByName),
    requiredParameters: preferences.require_parameters ? listSentParameters(prompt.call) : null,
    quantizations: expandQuantizations(preferences),
    maxPrice: parseMaxPrice(preferences),
  }
}

/** The candidates of one model that are permitted and have the features a request needs. */
function listSuitableCandidates(
  resolved: ResolvedModel,
  rules: FilterRules,
  exclusions: Exclusion[],
): Candidate[] {
  const tiers = resolveTiers(rules.query, resolved)
  const candidates = preferFlexTier(
    listPermittedCandidates(resolved.model, rules, tiers, exclusions),
    tiers,
    exclusions,
  )
  return preferMatching(candidates, 'unsupported_feature', exclusions, createFeatureCheck(rules))
}

/** Each endpoint with each credential that may be used. */
export function listPermittedCandidates(
  model: Model,
  rules: FilterRules,
  tiers: TierAccess,
  exclusions: Exclusion[],
): Candidate[] {
  const { byokKeys } = rules.query
  const candidates: Candidate[] = []
  for (const endpoint of byokKeys.length > 0 ? model.endpoints : model.callable) {
    const reason = findExclusion(rules, tiers, model, endpoint)
    if (reason) {
      exclusions.push({ model, endpoint, byokKeyId: null, reason })
      continue
    }
    for (const key of byokKeys)
      if (isByokKeyUsable(rules, model, endpoint, key)) candidates.push(createCandidate(model, endpoint, key))
    const sharedReason = findSharedExclusion(rules, model, endpoint, byokKeys)
    if (sharedReason) exclusions.push({ model, endpoint, byokKeyId: null, reason: sharedReason })
    else candidates.push(createCandidate(model, endpoint, null))
  }
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
export function preferMatching(
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

export function exclude(
  exclusions: Exclusion[],
  { model, endpoint, byokKey }: Candidate,
  reason: ExclusionReason,
): void {
  exclusions.push({ model, endpoint, byokKeyId: byokKey?.id ?? null, reason })
}

export function createFeatureCheck({ query }: FilterRules): ((candidate: Candidate) => boolean) | null {
  const features = query.prompt.plain ? [] : listNeededFeatures(query.prompt.call)
  return features.length === 0 ? null : ({ endpoint }) => hasFeatures(endpoint, features)
}
