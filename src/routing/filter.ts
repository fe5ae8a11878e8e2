import type { OwnKey } from '../account/own-keys.ts'
import type { Call } from '../call/call.ts'
import { type Endpoint, isKeyless, type Model } from '../catalog/model.ts'
import { ruleApplies } from '../catalog/model-rule.ts'
import { isGenerateDialect, parameterNames } from '../catalog/vocabulary.ts'
import { fieldNames } from '../dialects/fields.ts'
import { endpointBlocked, enforcesZdr } from '../policy/guard.ts'
import { isIgnored, isTagged, type Names, placeIn } from './names.ts'
import type { Lanes, Wanted } from './wanted.ts'

/** Why an endpoint cannot serve a request, in the words of `availability.excluded_by`. */
export type Reason =
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

/** What a request says of endpoints, read once. */
export interface Rules {
  wanted: Wanted
  /** Some guardrail has something to say. */
  isGuarded: boolean
  /** Only models whose author allows distillation. */
  distillable: boolean
  /** Only where nothing is trained on. */
  untrained: boolean
  /** Only where nothing is kept. */
  unkept: boolean
  only: Names | null
  ignore: Names | null
  order: Names | null
  /** Parameters that were sent, where endpoints must know them all. */
  parameters: readonly string[] | null
  quantizations: ReadonlySet<string> | null
  maxPrice: MaxPrice | null
}

/**
 * Why no key at all could make an endpoint serve a request; undefined when nothing is in the way, `dialect`
 * when nothing is but that it makes something else than text.
 */
export function exclusionOf(
  rules: Rules,
  lanes: Lanes,
  model: Model,
  endpoint: Endpoint,
): Reason | undefined {
  if (!isLaneOpen(rules, lanes, endpoint)) return 'service_tier'
  const blocked = rules.isGuarded ? endpointBlocked(rules.wanted.policy, model, endpoint) : undefined
  if (blocked) return `guardrail:${blocked}`
  if (rules.only && placeIn(rules.only, endpoint, lanes) === -1) return 'allowed_providers'
  if (rules.ignore && isIgnored(rules.ignore, endpoint)) return 'allowed_providers'
  if (rules.distillable && !model.distillable) return 'distillable'
  if (rules.untrained && endpoint.data_policy.training) return 'data_policy:training'
  if (rules.quantizations && !rules.quantizations.has(endpoint.quantization ?? 'unknown'))
    return 'quantization'
  if (rules.maxPrice && isDearer(endpoint, rules.maxPrice)) return 'max_price'
  if (rules.parameters && !takesAll(endpoint, rules.parameters)) return 'require_parameters'
  return endpoint.dialects.some(isGenerateDialect) ? undefined : 'dialect'
}

/** Why the installation's own credential cannot be used. */
export function sharedExclusionOf(
  rules: Rules,
  model: Model,
  endpoint: Endpoint,
  keys: readonly OwnKey[],
): Reason | undefined {
  const { wanted } = rules
  if (!endpoint.provider.enabled) return 'no_credential'
  if (wanted.region !== 'global' && !endpoint.regions.includes(wanted.region)) return 'data_region'
  const isTaken = ({ isOnly, isRequired }: OwnKey, isHere: boolean) => isOnly || (isRequired && isHere)
  for (const key of keys) {
    if (key.provider === endpoint.provider.slug && isTaken(key, appliesTo(key, model)))
      return 'own_key_required'
  }
  return retentionOf(rules, model, endpoint, endpoint.data_policy.retains)
}

/** Whether a key of the caller's own is for this provider and model, and keeps nothing that must not be kept. */
export function isUsable(rules: Rules, model: Model, endpoint: Endpoint, key: OwnKey): boolean {
  if (key.provider !== endpoint.provider.slug || !appliesTo(key, model)) return false
  if (isKeyless(endpoint.provider)) return false
  const retains = key.declaredZdr === null ? endpoint.data_policy.retains : !key.declaredZdr
  return retentionOf(rules, model, endpoint, retains) === undefined
}

function appliesTo({ allowedModels }: OwnKey, model: Model): boolean {
  return allowedModels === null || allowedModels.some((rule) => ruleApplies(rule, model))
}

function retentionOf(
  { isGuarded, unkept, wanted }: Rules,
  model: Model,
  endpoint: Endpoint,
  retains: boolean,
): Reason | undefined {
  if (!retains) return undefined
  if (isGuarded && enforcesZdr(wanted.policy, model, endpoint)) return 'guardrail:enforce_zdr'
  return unkept ? 'data_policy:zdr' : undefined
}

/** A lane beside the default one is used only by who asked for it: by name, by tier, or by a variant. */
function isLaneOpen({ only, order }: Rules, lanes: Lanes, endpoint: Endpoint): boolean {
  const { service_tier } = endpoint
  if (service_tier === null) return true
  return lanes[service_tier] !== 'no' || isTagged(only, endpoint) || isTagged(order, endpoint)
}

/** Prices per million tokens, and per request, image and token of audio. */
export interface MaxPrice {
  prompt: number
  completion: number
  request: number
  image: number
  audio: number
}

const most = Number.POSITIVE_INFINITY

export function maxPriceOf({ max_price: said }: Wanted['preferences']): MaxPrice | null {
  if (!said) return null
  const of = (price: string | number | undefined) => (price === undefined ? most : Number(price))
  return {
    prompt: of(said.prompt),
    completion: of(said.completion),
    request: of(said.request),
    image: of(said.image),
    audio: of(said.audio),
  }
}

/** Decimal digits that became floats must not make an equal price the dearer one. */
const rounding = 1 + 1e-9

/** A price nobody knows keeps to no maximum. */
function isDearer({ pricing }: Endpoint, max: MaxPrice): boolean {
  if (!pricing) return true
  const factor = (1 - (pricing.discount ?? 0)) / rounding
  const exceeds = (price: string | undefined, limit: number, per = 1) =>
    price !== undefined && Number(price) * per * factor > limit
  return (
    exceeds(pricing.prompt, max.prompt, 1e6) ||
    exceeds(pricing.completion, max.completion, 1e6) ||
    exceeds(pricing.request, max.request) ||
    exceeds(pricing.image, max.image) ||
    exceeds(pricing.audio, max.audio)
  )
}

/** A name stands for the finer ones too. */
const finer: Record<string, readonly string[]> = { fp4: ['mxfp4', 'nvfp4'], fp8: ['mxfp8'] }

export function quantizationsOf({ quantizations }: Wanted['preferences']): ReadonlySet<string> | null {
  if (!quantizations) return null
  return new Set(quantizations.flatMap((name) => [name, ...(finer[name] ?? [])]))
}

/** What the catalogue says of endpoints; other fields are the dialects' business. */
const catalogued = new Set<string>(parameterNames)

/** Every parameter the client sent, by the name the catalogue has for it. */
export function sentParameters(call: Call): string[] {
  return Object.entries(fieldNames).flatMap(([field, name]) =>
    call[field as keyof typeof fieldNames] !== undefined && catalogued.has(name) ? [name] : [],
  )
}

function takesAll({ supports }: Endpoint, parameters: readonly string[]): boolean {
  return parameters.every(
    (name) => supports.has(name) || (name === 'max_tokens' && supports.has('max_completion_tokens')),
  )
}

/** What an endpoint should know when another of the same model does. */
export function softNeeds({ tools, format, verbosity }: Call): string[] {
  const needs: string[] = []
  if (tools && tools.length > 0) needs.push('tools')
  if (format && format.kind !== 'text') needs.push('response_format')
  if (verbosity !== undefined) needs.push('verbosity')
  return needs
}

export function meetsSoftNeeds({ supports }: Endpoint, needs: readonly string[]): boolean {
  return needs.every(
    (need) => supports.has(need) || (need === 'response_format' && supports.has('structured_outputs')),
  )
}

/** Whether prompt and answer fit, by an estimate: the provider has the last word where there is no other. */
export function fits(
  { context_length, max_completion_tokens, max_prompt_tokens }: Endpoint,
  promptTokens: number,
  maxTokens = 0,
): boolean {
  if (max_completion_tokens !== null && maxTokens > max_completion_tokens) return false
  if (max_prompt_tokens !== null && promptTokens > max_prompt_tokens) return false
  return context_length === null || promptTokens + maxTokens <= context_length
}

type Modality = Model['input_modalities'][number]

/** What a prompt consists of beside text. */
export function modalitiesOf({ messages }: Call): Modality[] {
  const found = new Set<Modality>()
  for (const { parts } of messages) {
    for (const { kind } of parts) {
      if (kind === 'image' || kind === 'audio' || kind === 'video' || kind === 'file') found.add(kind)
    }
  }
  return [...found]
}
