import type { z } from 'zod'
import type { ModelAliasRow } from '../../../catalog/aliases.ts'
import { decodeSplit, encodeSplit, type Split, type SplitTarget } from '../../../catalog/split.ts'
import { isTagName, isTagValue } from '../../../governance/tags/tag.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import type { TargetBody, updateBody } from './record.ts'

type ModelFields = Pick<z.output<typeof updateBody>, 'models' | 'targets' | 'split_by' | 'fallback'>
type ModelColumns = Pick<ModelAliasRow, 'models' | 'split'>

/** The models of an alias, and how requests are divided among them, after a change. */
export function changeModels(
  before: ModelColumns & { name: string },
  { models, targets, split_by, fallback }: ModelFields,
): ModelColumns {
  if (models) return { models: JSON.stringify(models), split: null }
  if (!targets && split_by === undefined && fallback === undefined)
    return { models: before.models, split: before.split }
  const split = decodeSplit(before.split)
  const divided = targets ? completeTargets(before.name, targets) : split?.targets
  if (!divided) throw invalidFieldError(split_by === undefined ? 'fallback' : 'split_by', 'requires targets')
  const changed: Split = {
    by: split_by ?? split?.by ?? 'session',
    fallback: fallback ?? split?.fallback ?? true,
    targets: divided,
  }
  return { models: JSON.stringify(listModels(divided)), split: encodeSplit(changed) }
}

/** Nodes of a version without weights try them in this order. */
function listModels(targets: readonly SplitTarget[]): string[] {
  const byWeight = targets.toSorted((a, b) => b.weight - a.weight)
  return [...new Set(byWeight.map(({ model }) => model))]
}

function completeTargets(alias: string, targets: readonly TargetBody[]): SplitTarget[] {
  const tags = new Set<string>()
  return targets.map(({ model, weight, tag: own }, at) => {
    const field = `targets.${at}.tag`
    const tag = own ?? defaultTag(alias, model, field)
    if (tags.has(tag)) throw invalidFieldError(field, `another target has the tag "${tag}"`)
    tags.add(tag)
    return { model, weight, tag }
  })
}

/** The names of tags have no upper case and no slash. */
function defaultTag(alias: string, model: string, field: string): string {
  const name = alias.toLowerCase().replace('/', '.')
  if (isTagName(name) && isTagValue(model)) return `${name}=${model}`
  throw invalidFieldError(field, 'is required, because the names of the alias and the model are too long')
}
