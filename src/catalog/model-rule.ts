import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import type { Catalog } from './catalog.ts'
import type { Model } from './model.ts'
import { findModelOrRouter } from './router-models.ts'

type NamedModel = Pick<Model, 'id' | 'canonical_slug'>

/** The name of a model in policies: the canonical slug for all variants, with a suffix for one of them. */
export function toModelRule({ id, canonical_slug }: NamedModel): string {
  const suffix = id.indexOf(':')
  return suffix < 0 ? canonical_slug : canonical_slug + id.slice(suffix)
}

/** Whether a rule includes everything that another one matches. */
export function ruleCovers(rule: string, other: string): boolean {
  return rule === other || other.startsWith(`${rule}:`)
}

export function ruleApplies(rule: string, model: NamedModel): boolean {
  return ruleCovers(rule, toModelRule(model))
}

/** The rule for a name in a request body; an unknown name is a 400 that names the field. */
export function parseModelRule(catalog: Catalog, name: string, field: string): string {
  const resolved = findModelOrRouter(catalog, name)
  const [routingVariant] = resolved?.variants ?? []
  if (routingVariant)
    throw invalidFieldError(field, `":${routingVariant}" is a routing suffix; name the model without it`)
  if (resolved) return toModelRule(resolved.model)
  // The catalog may have only variants of a model; then its canonical slug is not a model.
  if (catalog.models.some((model) => ruleCovers(name, toModelRule(model)))) return name
  throw invalidFieldError(field, `"${name}" is not a known model`)
}
