import { promptEstimate } from '../call/size.ts'
import type { Found } from '../catalog/lookup.ts'
import type { Endpoint, Model } from '../catalog/model.ts'
import { allowsEverything } from '../policy/guard.ts'
import { type Candidate, candidateOf } from './candidate.ts'
import {
  exclusionOf,
  fits,
  isUsable,
  maxPriceOf,
  meetsSoftNeeds,
  modalitiesOf,
  quantizationsOf,
  type Reason,
  type Rules,
  sentParameters,
  sharedExclusionOf,
  softNeeds,
} from './filter.ts'
import { healthIdOf } from './health.ts'
import { namesOf, placeIn } from './names.ts'
import { type Ranking, ranked, type World } from './rank.ts'
import { isMixed, type Lanes, lanesOf, sortOf, type Wanted } from './wanted.ts'

/** An endpoint that is not among the candidates, and why. */
export interface LeftOut {
  model: Model
  endpoint: Endpoint
  /** The credential it is about: an own key of the caller; null: the installation's. */
  ownKeyId: string | null
  reason: Reason
}

export interface Decision {
  /** Best first. */
  candidates: Candidate[]
  left: LeftOut[]
}

/** Where a request may go. Nothing is changed and nothing is asked: the same world gives the same answer. */
export function decide(wanted: Wanted, world: World, stickyOf: StickyOf): Decision {
  const rules = rulesOf(wanted)
  const left: LeftOut[] = []
  const groups = wanted.models.map((found) => groupOf(found, rules, world, left))
  const fitting = fittingModels(groups, wanted, left)
  const candidates = isMixed(wanted)
    ? arranged(fitting.flat(), wanted, wanted.models[0], rules, world, stickyOf)
    : fitting.flatMap((group, place) => arranged(group, wanted, wanted.models[place], rules, world, stickyOf))
  const distinct = wanted.models.length < 2 ? candidates : onceEach(candidates)
  return { candidates: withoutFallbacks(distinct, rules, world, left), left }
}

/** Several names may stand for one model: nobody is asked the same again. */
function onceEach(candidates: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>()
  return candidates.filter(({ id }) => !seen.has(id) && seen.add(id))
}

/** Whether there is a credential with which an endpoint of the model may be asked, for whatever it makes. */
export function isOpen(model: Model, wanted: Wanted): boolean {
  const rules = rulesOf(wanted)
  const { ownKeys } = wanted
  return model.endpoints.some((endpoint) => {
    const reason = exclusionOf(rules, openLanes, model, endpoint)
    if (reason !== undefined && reason !== 'dialect') return false
    if (sharedExclusionOf(rules, model, endpoint, ownKeys) === undefined) return true
    return ownKeys.some((key) => isUsable(rules, model, endpoint, key))
  })
}

/** Who asks for a lane may have it. */
const openLanes: Lanes = { priority: 'yes', flex: 'yes' }

/** The id of the candidate that answered the conversation last. */
export type StickyOf = (conversation: string) => string | null

function rulesOf(wanted: Wanted): Rules {
  const { preferences, providerByName, call, policy } = wanted
  return {
    wanted,
    isGuarded: !allowsEverything(policy),
    distillable: preferences.enforce_distillable_text === true,
    untrained: preferences.data_collection === 'deny',
    unkept: preferences.zdr === true || preferences.data_collection === 'deny',
    only: namesOf(preferences.only, providerByName),
    ignore: namesOf(preferences.ignore, providerByName),
    order: namesOf(preferences.order, providerByName),
    parameters: preferences.require_parameters ? sentParameters(call) : null,
    quantizations: quantizationsOf(preferences),
    maxPrice: maxPriceOf(preferences),
  }
}

/** The candidates of one model, not yet in order. */
function groupOf(found: Found, rules: Rules, world: World, left: LeftOut[]): Candidate[] {
  const lanes = lanesOf(rules.wanted, found)
  const candidates = flexOnly(permitted(found.model, rules, lanes, world, left), lanes, left)
  const able = preferring(candidates, 'unsupported_feature', left, meeting(rules))
  return present(preferring(able, 'context_length', left, fitting(able, rules)), world, left)
}

/** Each endpoint with each credential that may be used. */
function permitted(
  model: Model,
  rules: Rules,
  lanes: Lanes,
  { health }: World,
  left: LeftOut[],
): Candidate[] {
  const { ownKeys } = rules.wanted
  const candidates: Candidate[] = []
  const endpoints = ownKeys.length > 0 ? model.endpoints : model.callable
  const known = health.knownOf(endpoints)
  endpoints.forEach((endpoint, place) => {
    const reason = exclusionOf(rules, lanes, model, endpoint)
    if (reason) {
      left.push({ model, endpoint, ownKeyId: null, reason })
      return
    }
    for (const key of ownKeys) {
      if (!isUsable(rules, model, endpoint, key)) continue
      candidates.push(candidateOf(model, endpoint, key, health.known(healthIdOf(endpoint.id, key.id))))
    }
    const sharedReason = sharedExclusionOf(rules, model, endpoint, ownKeys)
    if (sharedReason) left.push({ model, endpoint, ownKeyId: null, reason: sharedReason })
    else candidates.push(candidateOf(model, endpoint, null, known[place]))
  })
  return candidates
}

/** Who asks for the flexible lane gets no other, if there is one. */
function flexOnly(candidates: Candidate[], lanes: Lanes, left: LeftOut[]): Candidate[] {
  if (lanes.flex !== 'only') return candidates
  return preferring(candidates, 'service_tier', left, ({ endpoint }) => endpoint.service_tier === 'flex')
}

/** Those that pass, unless none does: then all of them. */
function preferring(
  candidates: Candidate[],
  reason: Reason,
  left: LeftOut[],
  passes: ((candidate: Candidate) => boolean) | null,
): Candidate[] {
  if (candidates.length < 2 || !passes) return candidates
  const passing = candidates.filter(passes)
  if (passing.length === 0 || passing.length === candidates.length) return candidates
  for (const candidate of candidates) if (!passing.includes(candidate)) leave(left, candidate, reason)
  return passing
}

function leave(left: LeftOut[], { model, endpoint, ownKey }: Candidate, reason: Reason): void {
  left.push({ model, endpoint, ownKeyId: ownKey?.id ?? null, reason })
}

function meeting({ wanted }: Rules): ((candidate: Candidate) => boolean) | null {
  const needs = softNeeds(wanted.call)
  return needs.length === 0 ? null : ({ endpoint }) => meetsSoftNeeds(endpoint, needs)
}

function fitting(
  candidates: readonly Candidate[],
  { wanted }: Rules,
): ((candidate: Candidate) => boolean) | null {
  if (candidates.length < 2) return null
  const promptTokens = promptEstimate(wanted.call)
  const { maxTokens } = wanted.call
  return ({ endpoint }) => fits(endpoint, promptTokens, maxTokens)
}

/**
 * Without those that asked to be left alone, and without those that fail again and again; but a model
 * does not lose its last provider because of failures.
 */
function present(candidates: Candidate[], { now }: World, left: LeftOut[]): Candidate[] {
  if (!candidates.some(({ health }) => health?.isPaused(now) || health?.isEjected(now))) return candidates
  const willing: Candidate[] = []
  const standing: Candidate[] = []
  for (const candidate of candidates) {
    const { health } = candidate
    if (health?.isPaused(now)) leave(left, candidate, 'rate_limited')
    else {
      willing.push(candidate)
      if (!health?.isEjected(now)) standing.push(candidate)
    }
  }
  if (standing.length === willing.length) return willing
  if (standing.length === 0) return willing.map((candidate) => Object.assign(candidate, { why: 'ejected' }))
  for (const candidate of willing) if (!standing.includes(candidate)) leave(left, candidate, 'ejected')
  return standing
}

/** Of several models, those that take what the prompt consists of; one that is alone may try. */
function fittingModels(groups: Candidate[][], { models, call }: Wanted, left: LeftOut[]): Candidate[][] {
  if (models.length < 2) return groups
  const needed = modalitiesOf(call)
  const takes = ({ model }: Found) => needed.every((modality) => model.input_modalities.includes(modality))
  if (needed.length === 0 || !models.some((found, place) => takes(found) && groups[place]?.length))
    return groups
  return groups.map((group, place) => {
    const found = models[place]
    if (!found || takes(found)) return group
    for (const candidate of group) leave(left, candidate, 'modality')
    return []
  })
}

/** Own keys that come first, then shared capacity, then own keys that are there for when the rest fails. */
function arranged(
  candidates: Candidate[],
  wanted: Wanted,
  found: Found | undefined,
  rules: Rules,
  world: World,
  stickyOf: StickyOf,
): Candidate[] {
  if (!found || candidates.length < 2) return candidates
  const ranking: Ranking = {
    order: rules.order,
    sort: sortOf(wanted, found),
    lanes: lanesOf(wanted, found),
    sticky: () => {
      const conversation = wanted.conversation(found.model.id)
      return conversation === null ? null : stickyOf(conversation)
    },
    hasTools: (wanted.call.tools?.length ?? 0) > 0,
    preferences: wanted.preferences,
  }
  if (wanted.ownKeys.length === 0) return ranked(candidates, ranking, world)
  const own = candidates.filter(({ ownKey }) => ownKey && !ownKey.isFallback)
  const shared = candidates.filter(({ ownKey }) => !ownKey)
  const fallback = candidates.filter(({ ownKey }) => ownKey?.isFallback)
  return [own, shared, fallback].flatMap((group) => ranked(group, ranking, world))
}

/**
 * Without fallbacks: what `order` lists, or else the first choice, which is each that may win a draw that was
 * not made. Other models are the client's own wish.
 */
function withoutFallbacks(
  candidates: Candidate[],
  { wanted, order }: Rules,
  { random }: World,
  left: LeftOut[],
): Candidate[] {
  if (wanted.preferences.allow_fallbacks !== false) return candidates
  const lanes = new Map(wanted.models.map((found) => [found.model, lanesOf(wanted, found)]))
  const isListed = ({ model, endpoint }: Candidate) => {
    const open = lanes.get(model)
    return order !== null && open !== undefined && placeIn(order, endpoint, open) !== -1
  }
  const isFirst = (candidate: Candidate) => {
    const first = candidates.find(({ model }) => model === candidate.model)
    return candidate === first || (random === null && first?.share != null && (candidate.share ?? 0) > 0)
  }
  const kept = candidates.filter(order && order.length > 0 ? isListed : isFirst)
  for (const candidate of candidates) if (!kept.includes(candidate)) leave(left, candidate, 'allow_fallbacks')
  return kept
}
