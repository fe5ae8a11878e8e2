import { type ModelAliasRow, toAliasRule } from '../../../catalog/aliases.ts'
import { findPlacedRecords } from '../../../identity/placed-records.ts'
import { type Db, isUniqueViolation } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

/** Those of the organization, and of these workspaces; null: of all. */
export function listAliases(
  db: Db,
  organizationId: string,
  workspaceIds: readonly string[] | null,
  page: Pagination,
): Promise<RowPage<ModelAliasRow>> {
  const all = db.selectFrom('model_aliases').selectAll().where('organization_id', '=', organizationId)
  const listed =
    workspaceIds === null
      ? all
      : all.where((eb) =>
          eb.or([
            eb('workspace_id', 'is', null),
            ...(workspaceIds.length > 0 ? [eb('workspace_id', 'in', workspaceIds)] : []),
          ]),
        )
  return fetchPage(listed, page, ['name', 'id'])
}

export const modelAliases = findPlacedRecords('model_aliases', 'model alias')

export async function insertAlias(tx: Db, row: ModelAliasRow): Promise<void> {
  try {
    await tx.insertInto('model_aliases').values(row).execute()
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw gatewayError('conflict', `name: there is an alias "${row.name}" already.`)
  }
}

export async function saveAlias(tx: Db, { id, ...row }: ModelAliasRow): Promise<void> {
  const { models, split, rules, expires_at, replacement, updated_at } = row
  await tx
    .updateTable('model_aliases')
    .set({ models, split, rules, expires_at, replacement, updated_at })
    .where('id', '=', id)
    .execute()
}

export async function deleteAlias(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('model_aliases').where('id', '=', id).execute()
}

/** The name of a guardrail whose rules have the alias. */
export async function findGuardrailWith(
  tx: Db,
  { organization_id, name }: ModelAliasRow,
): Promise<string | undefined> {
  const rule = JSON.stringify(toAliasRule(name))
  const rows = await tx
    .selectFrom('guardrails')
    .select(['name', 'allowed_models', 'ignored_models'])
    .where('organization_id', '=', organization_id)
    .execute()
  return rows.find((row) => [row.allowed_models, row.ignored_models].some((list) => list?.includes(rule)))
    ?.name
}

/** The name of a routing rule that names the alias, with or without routing suffixes. */
export async function findRoutingRuleWith(
  tx: Db,
  { organization_id, name }: ModelAliasRow,
): Promise<string | undefined> {
  const rows = await tx
    .selectFrom('routing_rules')
    .select(['name', 'action'])
    .where('organization_id', '=', organization_id)
    .execute()
  const namesAlias = (action: string) =>
    (JSON.parse(action) as { models?: string[] }).models?.some((model) => model.split(':')[0] === name)
  return rows.find(({ action }) => namesAlias(action))?.name
}

/** The name of another alias that leads to this one. */
export async function findAliasWith(
  tx: Db,
  { organization_id, name, id }: ModelAliasRow,
): Promise<string | undefined> {
  const rule = JSON.stringify(toAliasRule(name))
  const rows = await tx
    .selectFrom('model_aliases')
    .select(['name', 'rules'])
    .where('organization_id', '=', organization_id)
    .where('id', '<>', id)
    .execute()
  return rows.find(({ rules }) => rules.includes(rule))?.name
}
