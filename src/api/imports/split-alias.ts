import { maxAliasModels } from '../../catalog/resolve-names.ts'
import { maxWeight, type Split } from '../../catalog/split.ts'
import { aliasName } from '../catalog/aliases/record.ts'
import type { PlannedAlias } from './import-plan.ts'
import { toSlug } from './slugs.ts'

export interface WeightedModel {
  model: string
  weight: number
}

/** An alias that divides its requests; null if it has no valid name or too many models. */
export function toSplitAlias(name: string, targets: readonly WeightedModel[]): PlannedAlias | null {
  const models = [...new Set(targets.map(({ model }) => model))]
  if (!isAliasable(name, models)) return null
  const sums = models.map((model) => ({
    model,
    weight: targets.reduce((sum, target) => sum + (target.model === model ? target.weight : 0), 0),
  }))
  const total = sums.reduce((sum, { weight }) => sum + weight, 0)
  if (total <= 0) return null
  const tagName = toSlug(name)
  const split: Split = {
    by: 'request',
    fallback: true,
    targets: sums.map(({ model, weight }) => ({
      model,
      weight: Math.round((weight / total) * maxWeight),
      tag: `${tagName}=${toSlug(model)}`,
    })),
  }
  return { name, models, split }
}

/** An alias whose models are tried in their order; null if it has no valid name or too many models. */
export function toGroupAlias(name: string, targets: readonly string[]): PlannedAlias | null {
  const models = [...new Set(targets)]
  return isAliasable(name, models) ? { name, models } : null
}

function isAliasable(name: string, models: readonly string[]): boolean {
  return aliasName.safeParse(name).success && models.length > 0 && models.length <= maxAliasModels
}
