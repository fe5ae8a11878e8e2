import type { RoutingRuleRow } from '../../../governance/routing-rules/store.ts'
import { findPlacedRecords } from '../../../identity/placed-records.ts'
import type { Db } from '../../../platform/db/db.ts'

export const routingRules = findPlacedRecords('routing_rules', 'routing rule')

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
