import type { Selectable } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { RoutingRuleTable } from '../../platform/db/schema.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { compileStored } from './compile.ts'
import type { RoutingRule, RuleAction, WorkspaceRules } from './rule.ts'

export type RoutingRuleRow = Selectable<RoutingRuleTable>

/** The rules of an organization that are enabled. */
export class RoutingRuleIndex {
  readonly #rules: readonly PlacedRule[]
  readonly #slugs: ReadonlyMap<string, string>
  readonly #byWorkspace = new Map<string | null, WorkspaceRules | null>()

  constructor(rules: readonly PlacedRule[], slugs: ReadonlyMap<string, string>) {
    this.#rules = rules
    this.#slugs = slugs
  }

  /** Shared by the requests of a workspace; null if it has none. */
  forWorkspace(workspaceId: string | null): WorkspaceRules | null {
    const known = this.#byWorkspace.get(workspaceId)
    if (known !== undefined) return known
    const found = this.#find(workspaceId)
    this.#byWorkspace.set(workspaceId, found)
    return found
  }

  #find(workspaceId: string | null): WorkspaceRules | null {
    const rules = this.#rules
      .filter((rule) => rule.workspaceId === null || rule.workspaceId === workspaceId)
      .map(({ rule }) => rule)
    if (rules.length === 0) return null
    return { workspace: (workspaceId === null ? null : this.#slugs.get(workspaceId)) ?? '', rules }
  }
}

export interface PlacedRule {
  workspaceId: string | null
  rule: RoutingRule
}

/** Null if the organization has no rule that is enabled. */
export async function loadRoutingRules(db: Db, organizationId: string): Promise<RoutingRuleIndex | null> {
  const rows = (await listRuleRows(db, organizationId)).filter(({ enabled }) => enabled === 1)
  if (rows.length === 0) return null
  const slugs = await loadWorkspaceSlugs(db, organizationId)
  return new RoutingRuleIndex(await runInSlices(compileRows(rows)), slugs)
}

/** One step for each rule: a hundred long conditions take a few milliseconds. */
function* compileRows(rows: readonly RoutingRuleRow[]): Generator<void, PlacedRule[]> {
  const rules: PlacedRule[] = []
  for (const row of rows) {
    rules.push({ workspaceId: row.workspace_id, rule: toRoutingRule(row) })
    yield
  }
  return rules
}

export function toRoutingRule({ id, name, condition, action }: RoutingRuleRow): RoutingRule {
  return { id, name, condition: compileStored(id, condition), action: decodeAction(action) }
}

export function decodeAction(action: string): RuleAction {
  return JSON.parse(action) as RuleAction
}

/** In the order they are tried: those of the organization, then those of its workspaces. */
export async function listRuleRows(db: Db, organizationId: string): Promise<RoutingRuleRow[]> {
  const rows = await db
    .selectFrom('routing_rules')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('position')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.toSorted((a, b) => Number(a.workspace_id !== null) - Number(b.workspace_id !== null))
}

export async function loadWorkspaceSlugs(
  db: Db,
  organizationId: string,
): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('workspaces')
    .select(['id', 'slug'])
    .where('organization_id', '=', organizationId)
    .execute()
  return new Map(rows.map(({ id, slug }) => [id, slug]))
}
