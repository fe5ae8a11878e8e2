import type { ByokKey } from '../../catalog/byok-keys.ts'
import { type Endpoint, isKeyless, type Model } from '../../catalog/model.ts'
import { ruleApplies } from '../../catalog/model-rule.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { BillingUnit } from '../../formats/call/units.ts'
import { fieldNames } from '../../formats/fields.ts'
import { parameterNames, type TaskTraits, tasks, taskWireFormats } from '../../formats/vocabulary.ts'
import { findEndpointBlock, isZdrEnforced } from '../../governance/policy/guard.ts'
import type { RoutingQuery, TierAccess } from './query.ts'
import { findSelectorIndex, isIgnored, isSelectedByTag, type SelectorList } from './selectors.ts'

/** Reasons why an endpoint cannot serve a request: the values of `availability.excluded_by`. */
export type ExclusionReason =
  | 'dialect'
  | 'service_tier'
  | 'data_region'
  | `guardrail:${string}`
  | 'allowed_providers'
  | 'distillable'
  | 'data_policy:training'
  | 'data_policy:zdr'
  | 'quantization'
  | 'max_price'
  | 'require_parameters'
  | 'own_key_required'
  | 'no_credential'
  | 'unsupported_feature'
  | 'context_length'
  | 'modality'
  | 'rate_limited'
  | 'ejected'
  | 'allow_fallbacks'
  | 'price_unknown'
  | 'limit_reached'

/** The constraints of a request on endpoints, computed once. */
export interface FilterRules {
  query: RoutingQuery
  /** Whether some guardrail restricts endpoints. */
  hasGuardrails: boolean
  /** Whether only models whose author allows distillation may be used. */
  distillableOnly: boolean
  /** Whether only providers that do not train on prompts may be used. */
  noTraining: boolean
  /** Whether only providers that do not retain prompts may be used. */
  noRetention: boolean
  only: SelectorList | null
  ignore: SelectorList | null
  order: SelectorList | null
  /** The parameters sent, where endpoints must support all of them. */
  requiredParameters: readonly string[] | null
  quantizations: ReadonlySet<string> | null
  maxPrice: MaxPrice | null
}

/**
 * Finds the reason why an endpoint cannot serve a request with any credential; undefined if it can. `dialect` comes
 * last: the endpoint fits in every other respect but not for this task.
 */
export function findExclusion(
  rules: FilterRules,
  tiers: TierAccess,
  model: Model,
  endpoint: Endpoint,
): ExclusionReason | undefined {
  const wireFormats = taskWireFormats[rules.query.task]
  if (!isTierAllowed(rules, tiers, endpoint)) return 'service_tier'
  const blockedBy = rules.hasGuardrails ? findEndpointBlock(rules.query.policy, model, endpoint) : undefined
  if (blockedBy) return `guardrail:${blockedBy}`
  if (rules.only && findSelectorIndex(rules.only, endpoint, tiers) === -1) return 'allowed_providers'
  if (rules.ignore && isIgnored(rules.ignore, endpoint)) return 'allowed_providers'
  if (rules.distillableOnly && !model.distillable) return 'distillable'
  if (rules.noTraining && endpoint.data_policy.training) return 'data_policy:training'
  if (rules.quantizations && !rules.quantizations.has(endpoint.quantization ?? 'unknown'))
    return 'quantization'
  if (rules.maxPrice && isOverMaxPrice(endpoint, rules.maxPrice)) return 'max_price'
  if (rules.requiredParameters && !hasParameters(endpoint, rules.requiredParameters))
    return 'require_parameters'
  return endpoint.wireFormats.some((name) => wireFormats.has(name)) ? undefined : 'dialect'
}

/** Finds the reason why the installation's credential cannot be used. */
export function findSharedExclusion(
  rules: FilterRules,
  model: Model,
  endpoint: Endpoint,
  keys: readonly ByokKey[],
): ExclusionReason | undefined {
  const { query } = rules
  if (!endpoint.provider.enabled) return 'no_credential'
  if (query.region !== 'global' && !endpoint.regions.includes(query.region)) return 'data_region'
  const requiresByok = ({ isByokOnly, isRequired }: ByokKey, appliesHere: boolean) =>
    isByokOnly || (isRequired && appliesHere)
  for (const key of keys) {
    if (key.provider === endpoint.provider.slug && requiresByok(key, isKeyForModel(key, model)))
      return 'own_key_required'
  }
  return findRetentionExclusion(rules, model, endpoint, endpoint.data_policy.retains)
}

/** Whether a BYOK key is for this provider and model, and meets the rules on data retention. */
export function isByokKeyUsable(rules: FilterRules, model: Model, endpoint: Endpoint, key: ByokKey): boolean {
  if (key.provider !== endpoint.provider.slug || !isKeyForModel(key, model)) return false
  if (isKeyless(endpoint.provider)) return false
  const retains = key.declaredZdr === null ? endpoint.data_policy.retains : !key.declaredZdr
  return findRetentionExclusion(rules, model, endpoint, retains) === undefined
}

/** Whether a BYOK key may be used for a model. */
export function isKeyForModel({ allowedModels }: ByokKey, model: Model): boolean {
  return allowedModels === null || allowedModels.some((rule) => ruleApplies(rule, model))
}

function findRetentionExclusion(
  { hasGuardrails, noRetention, query }: FilterRules,
  model: Model,
  endpoint: Endpoint,
  retains: boolean,
): ExclusionReason | undefined {
  const task: TaskTraits = tasks[query.task]
  if (!retains && !task.retains) return undefined
  if (hasGuardrails && isZdrEnforced(query.policy, model, endpoint)) return 'guardrail:enforce_zdr'
  return noRetention ? 'data_policy:zdr' : undefined
}

/** Whether a tier may be used: the default, or one that is selected by tag, by `service_tier` or by a variant. */
function isTierAllowed({ only, order }: FilterRules, tiers: TierAccess, endpoint: Endpoint): boolean {
  const { service_tier } = endpoint
  if (service_tier === null) return true
  return tiers[service_tier] !== 'no' || isSelectedByTag(only, endpoint) || isSelectedByTag(order, endpoint)
}

/** USD per million for `prompt`, in its own unit, and `completion`; per request, per image, and per token of audio. */
export interface MaxPrice {
  prompt: number
  completion: number
  request: number
  image: number
  audio: number
}

const noMaximum = Number.POSITIVE_INFINITY

export function parseMaxPrice({ max_price: maxPrice }: RoutingQuery['preferences']): MaxPrice | null {
  if (!maxPrice) return null
  const toMaximum = (price: string | number | undefined) => (price === undefined ? noMaximum : Number(price))
  return {
    prompt: toMaximum(maxPrice.prompt),
    completion: toMaximum(maxPrice.completion),
    request: toMaximum(maxPrice.request),
    image: toMaximum(maxPrice.image),
    audio: toMaximum(maxPrice.audio),
  }
}

/** Prices are compared as floats: rounding must not make an equal price exceed the limit. */
const roundingTolerance = 1 + 1e-9

/** Whether a price exceeds a maximum; an unknown price exceeds every maximum. */
function isOverMaxPrice({ pricing, prompt_unit }: Endpoint, max: MaxPrice): boolean {
  if (!pricing) return true
  const factor = (1 - (pricing.discount ?? 0)) / roundingTolerance
  const exceeds = (price: string | undefined, limit: number, per = 1) =>
    price !== undefined && Number(price) * per * factor > limit
  // Which of several prices applies is not known before the reply.
  const exceedsUnit = (billed: BillingUnit, limit: number, per = 1) =>
    pricing.units?.some(({ unit, cost_usd }) => unit === billed && exceeds(cost_usd, limit, per)) ?? false
  return (
    exceeds(pricing.prompt, max.prompt, 1e6) ||
    exceeds(pricing.completion, max.completion, 1e6) ||
    exceeds(pricing.request, max.request) ||
    exceeds(pricing.image, max.image) ||
    exceeds(pricing.audio, max.audio) ||
    exceedsUnit('request', max.request) ||
    exceedsUnit('image', max.image) ||
    (prompt_unit !== 'token' && exceedsUnit(prompt_unit, max.prompt, 1e6))
  )
}

/** A name includes its more specific formats. */
const finerQuantizations: Record<string, readonly string[]> = { fp4: ['mxfp4', 'nvfp4'], fp8: ['mxfp8'] }

export function expandQuantizations({
  quantizations,
}: RoutingQuery['preferences']): ReadonlySet<string> | null {
  if (!quantizations) return null
  return new Set(quantizations.flatMap((name) => [name, ...(finerQuantizations[name] ?? [])]))
}

/** Parameters that are listed for endpoints; the wire formats handle the other fields. */
const catalogParameters = new Set<string>(parameterNames)

/** Every parameter the client sent, by its name in the catalog. */
export function listSentParameters(call: ModelCall): string[] {
  return Object.entries(fieldNames).flatMap(([field, name]) =>
    call[field as keyof typeof fieldNames] !== undefined && catalogParameters.has(name) ? [name] : [],
  )
}

function hasParameters({ supports }: Endpoint, parameters: readonly string[]): boolean {
  return parameters.every(
    (name) => supports.has(name) || (name === 'max_tokens' && supports.has('max_completion_tokens')),
  )
}

/** Features that exclude an endpoint without them, if another endpoint of the model has them. */
export function listNeededFeatures({ tools, format, verbosity }: ModelCall): string[] {
  const features: string[] = []
  if (tools && tools.length > 0) features.push('tools')
  if (format && format.kind !== 'text') features.push('response_format')
  if (verbosity !== undefined) features.push('verbosity')
  return features
}

export function hasFeatures({ supports }: Endpoint, features: readonly string[]): boolean {
  return features.every(
    (feature) =>
      supports.has(feature) || (feature === 'response_format' && supports.has('structured_outputs')),
  )
}

/** Whether prompt and reply fit, by an estimate. */
export function isWithinContext(
  { context_length, max_completion_tokens, max_prompt_tokens }: Endpoint,
  promptTokens: number,
  maxTokens = 0,
): boolean {
  if (max_completion_tokens !== null && maxTokens > max_completion_tokens) return false
  if (max_prompt_tokens !== null && promptTokens > max_prompt_tokens) return false
  return context_length === null || promptTokens + maxTokens <= context_length
}

type Modality = Model['input_modalities'][number]

/** The input modalities of a prompt besides text. */
export function listModalities({ messages }: ModelCall): Modality[] {
  const modalities = new Set<Modality>()
  for (const { parts } of messages) {
    for (const { kind } of parts) {
      if (kind === 'image' || kind === 'audio' || kind === 'video' || kind === 'file') modalities.add(kind)
    }
  }
  return [...modalities]
}
