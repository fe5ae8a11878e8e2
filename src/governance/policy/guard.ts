import type { Endpoint, Model } from '../../catalog/model.ts'
import { ruleApplies } from '../../catalog/model-rule.ts'
import { isRouterSlug } from '../../catalog/router-models.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import type { EffectivePolicy, EffectiveRules } from './effective.ts'
import type { ZdrGroup } from './guardrail.ts'

/** Checks the data region against the guardrails, before routing. */
export function assertRegionAllowed(policy: EffectivePolicy, region: DataRegion): void {
  const { layers, values } = policy.allowed_data_regions
  if (values === null || values.includes(region)) return
  throw gatewayError(
    'guardrail_blocked',
    `A guardrail (${layers.join(', ')}) does not allow requests in the region ${region}.`,
  )
}

export function isRegionAllowed(
  { allowed_data_regions: { values } }: EffectiveRules,
  region: DataRegion,
): boolean {
  return values === null || values.includes(region)
}

/** Whether no guardrail restricts endpoints, so that the checks can be skipped: the common case. */
export function isUnrestricted(policy: EffectivePolicy): boolean {
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

/** The guardrail field that blocks an endpoint with any credential; undefined if none does. */
export function findEndpointBlock(
  policy: EffectiveRules,
  model: Model,
  endpoint: Endpoint,
): string | undefined {
  return (
    findModelBlock(policy, model) ??
    findProviderBlock(policy, endpoint) ??
    findTrainingBlock(policy, endpoint)
  )
}

/** Whether zero data retention is required. */
export function isZdrEnforced(policy: EffectiveRules, model: Model, endpoint: Endpoint): boolean {
  return policy.enforce_zdr[zdrGroupOf(model, endpoint)].value
}

function findModelBlock(policy: EffectiveRules, model: Model): string | undefined {
  const { allowed_models, ignored_models } = policy
  if (allowed_models.values !== null && !allowed_models.values.some((rule) => ruleApplies(rule, model)))
    return 'allowed_models'
  return ignored_models.some(({ value }) => ruleApplies(value, model)) ? 'ignored_models' : undefined
}

/** A router model may be named unless it is denied; the models it chooses have to be allowed themselves. */
export function assertRouterAllowed(
  { allowed_models: { values }, ignored_models }: EffectiveRules,
  router: Model,
): void {
  if (ignored_models.some(({ value }) => ruleApplies(value, router)))
    throw gatewayError('guardrail_blocked', `A guardrail blocked "${router.id}" (ignored_models).`)
  if (values?.every(isRouterSlug))
    throw gatewayError(
      'guardrail_blocked',
      `A guardrail blocked "${router.id}" (allowed_models): it allows no model that a router model could choose. Add models to the list.`,
    )
}

/** The guardrail field that blocks a provider; undefined if none does. */
export function findProviderBlock(
  policy: EffectiveRules,
  { provider }: Pick<Endpoint, 'provider'>,
): string | undefined {
  const { allowed_providers, ignored_providers } = policy
  if (allowed_providers.values !== null && !allowed_providers.values.includes(provider.slug))
    return 'allowed_providers'
  return ignored_providers.some(({ value }) => value === provider.slug) ? 'ignored_providers' : undefined
}

function findTrainingBlock(policy: EffectiveRules, endpoint: Endpoint): string | undefined {
  const { training, publishes } = endpoint.data_policy
  const isFree = endpoint.price_state === 'free'
  if (training && isFree && policy.enable_free_model_training.value === false)
    return 'enable_free_model_training'
  if (training && !isFree && policy.enable_paid_model_training.value === false)
    return 'enable_paid_model_training'
  if (publishes && isFree && policy.enable_free_model_publication.value === false)
    return 'enable_free_model_publication'
  return undefined
}

/** A vendor's setting covers its first-party endpoints; `other` covers models of no listed vendor. */
function zdrGroupOf(model: Model, { provider }: Endpoint): ZdrGroup {
  return provider.vendor ?? (model.vendor === null ? 'other' : model.vendor)
}
