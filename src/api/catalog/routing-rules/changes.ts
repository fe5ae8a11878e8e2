import { listUsableAliases } from '../../../catalog/aliases.ts'
import { findModelOrRouter } from '../../../catalog/router-models.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import type { RuleAction } from '../../../governance/routing-rules/rule.ts'
import type { RoutingRuleRow } from '../../../governance/routing-rules/store.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { describeRule, encodeAction, type RuleDraft } from './record.ts'
import { deleteRule, findNextPosition, insertRule } from './store.ts'

interface Change {
  gateway: Gateway
  tx: Db
  record: RecordEvent
}

export interface RulePlace {
  organization_id: string
  workspace_id: string | null
}

export async function createRuleRow(
  { gateway, tx, record }: Change,
  place: RulePlace,
  draft: Omit<RuleDraft, 'workspace_id'>,
): Promise<RoutingRuleRow> {
  await lockOrganization(tx, place.organization_id)
  await assertModelsExist(gateway, tx, place, draft.then)
  const now = isoNow(gateway.clock)
  const row: RoutingRuleRow = {
    id: newUuid(),
    ...place,
    name: draft.name,
    description: draft.description ?? null,
    position: draft.position ?? (await findNextPosition(tx, place.organization_id)),
    enabled: draft.enabled === false ? 0 : 1,
    condition: draft.when,
    action: encodeAction(draft.then),
    created_at: now,
    updated_at: now,
  }
  await insertRule(tx, row)
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'routing_rules', place.organization_id)
  record({ action: 'routing_rule.create', ...describeRule(row), after: row })
  return row
}

export async function deleteRuleRow(
  { tx, record }: Omit<Change, 'gateway'>,
  row: RoutingRuleRow,
): Promise<void> {
  await deleteRule(tx, row.id)
  record({ action: 'routing_rule.delete', ...describeRule(row), before: row })
}

/** A rule that names an unknown model would fail every request that it applies to. */
export async function assertModelsExist(
  { catalog }: Gateway,
  db: Db,
  place: RulePlace,
  { models = [] }: RuleAction,
  field = 'then.models',
): Promise<void> {
  if (models.length === 0) return
  const aliases = new Set((await listUsableAliases(db, place)).map(({ name }) => name))
  for (const [index, name] of models.entries()) {
    const [base = ''] = name.split(':')
    if (aliases.has(name) || aliases.has(base) || findModelOrRouter(catalog, name)) continue
    const problem = `"${name.slice(0, 100)}" is neither a model nor an alias`
    throw invalidFieldError(`${field}.${index}`, problem)
  }
}
