import type { RoutingRuleRow } from '../../../governance/routing-rules/store.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'

interface RuleRequest {
  caller: { organizationId: string }
  scope: Scope
  params: { id: string }
}

export async function requireRule(db: Db, { caller, scope, params }: RuleRequest): Promise<RoutingRuleRow> {
  const row = await db
    .selectFrom('routing_rules')
    .selectAll()
    .where('organization_id', '=', caller.organizationId)
    .where('id', '=', params.id)
    .executeTakeFirst()
  return assertReachable(scope, row)
}

/** Locks the rule until the transaction ends. */
export async function lockRule(tx: Db, { caller, scope, params }: RuleRequest): Promise<RoutingRuleRow> {
  const row = await tx
    .updateTable('routing_rules')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', caller.organizationId)
    .where('id', '=', params.id)
    .returningAll()
    .executeTakeFirst()
  return assertReachable(scope, row)
}

function assertReachable(scope: Scope, row: RoutingRuleRow | undefined): RoutingRuleRow {
  if (!row) throw gatewayError('not_found', 'The routing rule does not exist.')
  assertWithinScope(scope, { workspaceId: row.workspace_id })
  return row
}

/** Room for rules that are added between others. */
const step = 10

/** A position behind all rules of the organization. */
export async function findNextPosition(tx: Db, organizationId: string): Promise<number> {
  const row = await tx
    .selectFrom('routing_rules')
    .select((eb) => eb.fn.max('position').as('last'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return Number(row?.last ?? 0) + step
}

export async function insertRule(tx: Db, row: RoutingRuleRow): Promise<void> {
  await tx.insertInto('routing_rules').values(row).execute()
}

export async function saveRule(tx: Db, { id, ...row }: RoutingRuleRow): Promise<void> {
  const { name, description, position, enabled, condition, action, updated_at } = row
  await tx
    .updateTable('routing_rules')
    .set({ name, description, position, enabled, condition, action, updated_at })
    .where('id', '=', id)
    .execute()
}

export async function deleteRule(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('routing_rules').where('id', '=', id).execute()
}

export interface KeyFacts {
  name: string | null
  hash: string
}

const keysPerStatement = 500

/** What conditions read of keys, also of those that were deleted if their rows are there. */
export async function loadKeyFacts(
  db: Db,
  organizationId: string,
  ids: readonly number[],
): Promise<Map<number, KeyFacts>> {
  const facts = new Map<number, KeyFacts>()
  for (let at = 0; at < ids.length; at += keysPerStatement) {
    const rows = await db
      .selectFrom('api_keys')
      .select(['id', 'hash', 'name'])
      .where('organization_id', '=', organizationId)
      .where('id', 'in', ids.slice(at, at + keysPerStatement))
      .execute()
    for (const { id, hash, name } of rows) facts.set(id, { hash, name })
  }
  return facts
}
