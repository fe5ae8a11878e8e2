import { isDeepStrictEqual } from 'node:util'
import type { ListedModel } from './listed-model.ts'

export const changeKinds = ['appeared', 'disappeared', 'price_changed', 'changed'] as const

export interface ListChange {
  model: string
  kind: (typeof changeKinds)[number]
  before: ListedModel | null
  after: ListedModel | null
}

/** What has changed between two readings of a list. */
export function compareLists(before: readonly ListedModel[], after: readonly ListedModel[]): ListChange[] {
  const known = new Map(before.map((model) => [model.id, model]))
  const current = new Map(after.map((model) => [model.id, model]))
  const gone = before.filter(({ id }) => !current.has(id))
  return [
    ...after.flatMap((model) => compareModel(known.get(model.id), model)),
    ...gone.map((model) => ({
      model: model.id,
      kind: 'disappeared' as const,
      before: model,
      after: null,
    })),
  ]
}

function compareModel(before: ListedModel | undefined, after: ListedModel): ListChange[] {
  const model = after.id
  if (!before) return [{ model, kind: 'appeared', before: null, after }]
  if (!isDeepStrictEqual(before.pricing, after.pricing))
    return [{ model, kind: 'price_changed', before, after }]
  return isDeepStrictEqual(before, after) ? [] : [{ model, kind: 'changed', before, after }]
}
