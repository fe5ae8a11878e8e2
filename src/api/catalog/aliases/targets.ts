import { isAliasRule, listUsableAliases, type ModelAliasRow, toAliasRule } from '../../../catalog/aliases.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { toModelRule } from '../../../catalog/model-rule.ts'
import { maxAliasDepth } from '../../../catalog/resolve-names.ts'
import { findModelOrRouter } from '../../../catalog/router-models.ts'
import { decodeSplit } from '../../../catalog/split.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findAliasWith, findGuardrailWith, findRoutingRuleWith } from './store.ts'

type AliasSettings = Pick<
  ModelAliasRow,
  'organization_id' | 'workspace_id' | 'name' | 'models' | 'split' | 'expires_at' | 'replacement'
>

/** What an alias stands for in the rules of guardrails: models, and the rules of other aliases. */
export async function resolveRules(tx: Db, catalog: Catalog, alias: AliasSettings): Promise<string> {
  const others = (await listUsableAliases(tx, alias)).filter(({ name }) => name !== alias.name)
  const names = new Set(others.map(({ name }) => name))
  const toRule = (target: string, field: string) => {
    if (names.has(target)) return toAliasRule(target)
    const resolved = findModelOrRouter(catalog, target)
    if (resolved) return toModelRule(resolved.model)
    throw invalidFieldError(field, `"${target.slice(0, 100)}" is neither a model nor an alias`)
  }
  const rules = listNamed(alias).map(({ name, field }) => toRule(name, field))
  if (alias.replacement !== null) rules.push(toRule(alias.replacement, 'replacement'))
  rejectCycle(alias, rules, others)
  rejectDepth(alias, rules, others)
  return JSON.stringify([...new Set(rules)])
}

/** The models and aliases that an alias names, each with its field. */
function listNamed({ models, split }: AliasSettings): { name: string; field: string }[] {
  const targets = decodeSplit(split)?.targets
  if (targets) return targets.map(({ model }, at) => ({ name: model, field: `targets.${at}.model` }))
  return (JSON.parse(models) as string[]).map((name, at) => ({ name, field: `models.${at}` }))
}

function rejectCycle(
  { name, split }: AliasSettings,
  rules: readonly string[],
  others: readonly ModelAliasRow[],
): void {
  const field = split === null ? 'models' : 'targets'
  const rulesOf = new Map(others.map((row) => [toAliasRule(row.name), JSON.parse(row.rules) as string[]]))
  const open = rules.filter(isAliasRule)
  const seen = new Set<string>()
  for (const rule of open) {
    if (seen.has(rule)) continue
    seen.add(rule)
    const next = rulesOf.get(rule) ?? []
    if (next.includes(toAliasRule(name)))
      throw invalidFieldError(field, `the alias "${rule.slice(1)}" leads back to this one`)
    open.push(...next.filter(isAliasRule))
  }
}

/** Requests would not find the model at the end of a longer chain. */
function rejectDepth(
  { name, split }: AliasSettings,
  rules: readonly string[],
  others: readonly ModelAliasRow[],
): void {
  const known = others.map((row) => [toAliasRule(row.name), JSON.parse(row.rules) as string[]] as const)
  const before = countLongestChain(new Map(known))
  const after = countLongestChain(new Map([...known, [toAliasRule(name), rules]]))
  if (after <= maxAliasDepth || after <= before) return
  const field = split === null ? 'models' : 'targets'
  throw invalidFieldError(
    field,
    `makes a chain of ${after} aliases that name one another; ${maxAliasDepth} is the most`,
  )
}

function countLongestChain(rulesOf: ReadonlyMap<string, readonly string[]>): number {
  const lengths = new Map<string, number>()
  const measure = (rule: string): number => {
    const known = lengths.get(rule)
    if (known !== undefined) return known
    // Of a cycle, which an alias of a workspace and one of the organization can make.
    lengths.set(rule, 0)
    const next = rulesOf.get(rule)?.filter(isAliasRule) ?? []
    const length = rulesOf.has(rule) ? 1 + Math.max(0, ...next.map(measure)) : 0
    lengths.set(rule, length)
    return length
  }
  return Math.max(0, ...[...rulesOf.keys()].map(measure))
}

/** Nothing may name an alias that is deleted: rules of guardrails would then restrict nothing, or everything. */
export async function rejectUsedAlias(tx: Db, alias: ModelAliasRow): Promise<void> {
  const guardrail = await findGuardrailWith(tx, alias)
  if (guardrail) throw gatewayError('conflict', `The guardrail "${guardrail}" names this alias.`)
  const rule = await findRoutingRuleWith(tx, alias)
  if (rule) throw gatewayError('conflict', `The routing rule "${rule}" names this alias.`)
  const dependent = await findAliasWith(tx, alias)
  if (dependent) throw gatewayError('conflict', `The alias "${dependent}" names this alias.`)
}
