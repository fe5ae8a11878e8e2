import { badField } from '../errors.ts'
import type { Catalog } from './catalog.ts'
import { findModel } from './lookup.ts'
import type { Model } from './model.ts'

type Named = Pick<Model, 'id' | 'canonical_slug'>

/** How policies name a model: the canonical slug for all its variants, with a suffix for one of them. */
export function ruleFor({ id, canonical_slug }: Named): string {
  const suffix = id.indexOf(':')
  return suffix < 0 ? canonical_slug : canonical_slug + id.slice(suffix)
}

/** Whether a rule is about all that another one is about. */
export function ruleCovers(rule: string, other: string): boolean {
  return rule === other || other.startsWith(`${rule}:`)
}

export function ruleApplies(rule: string, model: Named): boolean {
  return ruleCovers(rule, ruleFor(model))
}

/** The rule for a name in a request body; a 400 naming the field where there is none. */
export function readModelRule(catalog: Catalog, name: string, field: string): string {
  const found = findModel(catalog, name)
  const [routing] = found?.variants ?? []
  if (routing) throw badField(field, `":${routing}" is how a request is routed; name the model without it`)
  if (found) return ruleFor(found.model)
  // A model may be known by its variants alone; its canonical slug is then no name of its own.
  if (catalog.models.some((model) => ruleCovers(name, ruleFor(model)))) return name
  throw badField(field, `"${name}" is not a known model`)
}
