import type { Endpoint, Model } from '../catalog/model.ts'
import { ruleApplies } from '../catalog/model-rule.ts'
import type { DataRegion } from '../catalog/vocabulary.ts'
import { fail } from '../errors.ts'
import type { EffectivePolicy } from './effective.ts'
import type { ZdrGroup } from './guardrail.ts'

/** What the guardrails of a caller say of the request before anything is chosen. */
export function guardRegion(policy: EffectivePolicy, region: DataRegion): void {
  if (allowsRegion(policy, region)) return
  const { layers } = policy.allowed_data_regions
  throw fail(
    'guardrail_blocked',
    `A guardrail (${layers.join(', ')}) does not allow requests in the region ${region}.`,
  )
}

export function allowsRegion(
  { allowed_data_regions: { values } }: EffectivePolicy,
  region: DataRegion,
): boolean {
  return values === null || values.includes(region)
}

/** Whether no guardrail keeps anything from being used: most callers have none, and then nothing need be looked at. */
export function allowsEverything(policy: EffectivePolicy): boolean {
  return (
    policy.allowed_models.values === null &&
    policy.allowed_providers.values === null &&
    policy.ignored_models.length === 0 &&
    policy.ignored_providers.length === 0 &&
    policy.enable_free_model_training.value !== false &&
    policy.enable_paid_model_training.value !== false &&
    policy.enable_free_model_publication.value !== false &&
    Object.values(policy.enforce_zdr).every(({ value }) => !value)
  )
}

/** The guardrail field that keeps an endpoint from being used, with whatever key; undefined when none does. */
export function endpointBlocked(
  policy: EffectivePolicy,
  model: Model,
  endpoint: Endpoint,
): string | undefined {
  return modelBlocked(policy, model) ?? providerBlocked(policy, endpoint) ?? trainingBlocked(policy, endpoint)
}

/** Whether prompts must not be sent where they are kept. */
export function enforcesZdr(policy: EffectivePolicy, model: Model, endpoint: Endpoint): boolean {
  return policy.enforce_zdr[zdrGroup(model, endpoint)].value
}

function modelBlocked(policy: EffectivePolicy, model: Model): string | undefined {
  const { allowed_models, ignored_models } = policy
  if (allowed_models.values !== null && !allowed_models.values.some((rule) => ruleApplies(rule, model)))
    return 'allowed_models'
  return ignored_models.some(({ value }) => ruleApplies(value, model)) ? 'ignored_models' : undefined
}

function providerBlocked(policy: EffectivePolicy, { provider }: Endpoint): string | undefined {
  const { allowed_providers, ignored_providers } = policy
  if (allowed_providers.values !== null && !allowed_providers.values.includes(provider.slug))
    return 'allowed_providers'
  return ignored_providers.some(({ value }) => value === provider.slug) ? 'ignored_providers' : undefined
}

function trainingBlocked(policy: EffectivePolicy, endpoint: Endpoint): string | undefined {
  const { training, publishes } = endpoint.data_policy
  const free = endpoint.price_state === 'free'
  if (training && free && policy.enable_free_model_training.value === false)
    return 'enable_free_model_training'
  if (training && !free && policy.enable_paid_model_training.value === false)
    return 'enable_paid_model_training'
  if (publishes && free && policy.enable_free_model_publication.value === false)
    return 'enable_free_model_publication'
  return undefined
}

/** A vendor's own switch covers the endpoints it runs itself; models of none of the four fall under `other`. */
function zdrGroup(model: Model, { provider }: Endpoint): ZdrGroup {
  return provider.vendor ?? (model.vendor === null ? 'other' : model.vendor)
}
