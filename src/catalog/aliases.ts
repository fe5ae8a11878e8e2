import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { ModelAliasTable } from '../platform/db/schema.ts'
import { decodeSplit, type Split } from './split.ts'

export type ModelAliasRow = Selectable<ModelAliasTable>

/** A name for one model, for a group of models in the order they are tried, or for targets with weights. */
export interface ModelAlias {
  name: string
  models: readonly string[]
  /** How requests are divided among its targets, which are its models; null if they are not. */
  split: Split | null
  /** When requests move to the replacement; null: never. */
  expiresAt: string | null
  replacement: string | null
}

export type ModelAliases = ReadonlyMap<string, ModelAlias>

/** The place that names are looked up from. */
interface AliasPlace {
  organization_id: string
  workspace_id: string | null
}

/** The aliases of a workspace, which take precedence, and of its organization; null if there are none. */
export async function loadModelAliases(db: Db, place: AliasPlace): Promise<ModelAliases | null> {
  const rows = await listUsableAliases(db, place)
  if (rows.length === 0) return null
  return new Map(rows.map((row) => [row.name, toModelAlias(row)]))
}

function toModelAlias({ name, models, split, expires_at, replacement }: ModelAliasRow): ModelAlias {
  return {
    name,
    models: JSON.parse(models) as string[],
    split: decodeSplit(split),
    expiresAt: expires_at,
    replacement,
  }
}

/** Those of the organization first, so that those of the workspace replace them in a map. */
export async function listUsableAliases(
  db: Db,
  { organization_id, workspace_id }: AliasPlace,
): Promise<ModelAliasRow[]> {
  const rows = await db
    .selectFrom('model_aliases')
    .selectAll()
    .where('organization_id', '=', organization_id)
    .where((eb) =>
      workspace_id === null
        ? eb('workspace_id', 'is', null)
        : eb.or([eb('workspace_id', 'is', null), eb('workspace_id', '=', workspace_id)]),
    )
    .orderBy('id')
    .execute()
  return rows.sort((a, b) => Number(a.workspace_id !== null) - Number(b.workspace_id !== null))
}

const ruleMark = '@'

/** Whether an entry in a list of models is an alias: `@name`. */
export function isAliasRule(rule: string): boolean {
  return rule.startsWith(ruleMark)
}

export function toAliasRule(name: string): string {
  return ruleMark + name
}

/**
 * A function that replaces aliases in the rules of guardrails by what they stand for; an unknown one by nothing. The
 * replacement of an alias is included, because requests move to it without a change of the guardrail.
 */
export async function loadRuleExpansion(
  db: Db,
  place: AliasPlace,
): Promise<(rules: string[] | null) => string[] | null> {
  const rows = await listUsableAliases(db, place)
  const byRule = new Map(rows.map(({ name, rules }) => [toAliasRule(name), JSON.parse(rules) as string[]]))
  return (rules) => rules && expandRules(rules, byRule)
}

/** Expands each alias once, however many others name it: the number of ways to it can double with each alias. */
function expandRules(rules: readonly string[], byRule: ReadonlyMap<string, readonly string[]>): string[] {
  const open = new Set(rules)
  for (const rule of open) if (isAliasRule(rule)) for (const next of byRule.get(rule) ?? []) open.add(next)
  return [...open].filter((rule) => !isAliasRule(rule))
}

/** The first of these rules that names no alias of the place. */
export async function findUnknownAliasRule(
  db: Db,
  place: AliasPlace,
  rules: readonly string[],
): Promise<string | undefined> {
  const named = rules.filter(isAliasRule)
  if (named.length === 0) return undefined
  const known = new Set((await listUsableAliases(db, place)).map(({ name }) => toAliasRule(name)))
  return named.find((rule) => !known.has(rule))
}
