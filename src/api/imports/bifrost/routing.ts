import type { PlannedAlias, SkippedItem } from '../import-plan.ts'
import type { KnownModels } from '../models/known-models.ts'
import { toSplitAlias } from '../split-alias.ts'
import type { Configuration, RoutingRule } from './rows.ts'

/** A rule for one model, whatever the request, is an alias; other conditions are expressions that are not translated. */
export function translateRules(
  { governance }: Configuration,
  idOf: ReadonlyMap<string, string>,
  models: KnownModels,
): { aliases: PlannedAlias[]; skipped: SkippedItem[] } {
  const aliases: PlannedAlias[] = []
  const skipped: SkippedItem[] = []
  for (const rule of governance.routing_rules) {
    const alias = rule.enabled === false ? 'is disabled there' : translateRule(rule, idOf, models)
    if (typeof alias === 'string') skipped.push({ kind: 'routing rule', name: rule.name, reason: alias })
    else aliases.push(alias)
  }
  return { aliases, skipped }
}

function translateRule(
  { cel_expression, targets, scope }: RoutingRule,
  idOf: ReadonlyMap<string, string>,
  models: KnownModels,
): PlannedAlias | string {
  const [, model] = /^\s*model\s*==\s*["']([^"']+)["']\s*$/.exec(cel_expression) ?? []
  if (model === undefined || (scope && scope !== 'global'))
    return 'its condition is an expression: create a routing rule, docs/routing-rules.md'
  const known = (targets ?? []).map((target) => {
    const name = `${target.provider ?? ''}/${target.model || model.slice(model.indexOf('/') + 1)}`
    return { name, id: idOf.get(name) ?? models.resolve(name), weight: target.weight ?? 1 }
  })
  const missing = known.find(({ id }) => id === undefined)
  if (missing) return `${missing.name} is not imported`
  const weighted = known.flatMap(({ id, weight }) => (id === undefined ? [] : [{ model: id, weight }]))
  return toSplitAlias(model, weighted) ?? 'its model has a name that an alias cannot have'
}
