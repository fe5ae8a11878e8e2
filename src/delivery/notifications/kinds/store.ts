import { type Selectable, sql } from 'kysely'
import { fundingKinds } from '../../../ledger/entries.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { FailingEndpointTable } from '../../../platform/db/schema.ts'

/** Ids per statement: well below the number of parameters that either database accepts. */
const maxIds = 500

async function loadInChunks<Id, Row>(
  ids: readonly Id[],
  load: (chunk: Id[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let at = 0; at < ids.length; at += maxIds) rows.push(...(await load(ids.slice(at, at + maxIds))))
  return rows
}

export interface Balance {
  organizationId: string
  granted: bigint
  spent: bigint
}

/** Loads balances by the index of each organization's account, and from its meter. */
export async function loadBalances(db: Db, organizationIds: readonly string[]): Promise<Balance[]> {
  const rows = await loadInChunks(organizationIds, (ids) =>
    db
      .selectFrom('organizations')
      .leftJoin('meters', (join) =>
        join.on('meters.subject', '=', sql<string>`'organization:' || organizations.id`),
      )
      .select(['organizations.id', 'meters.total_nanos'])
      .select((eb) =>
        eb
          .selectFrom('ledger_entries')
          .select((entry) => entry.fn.sum<bigint>('amount_nanos').as('sum_nanos'))
          .whereRef('organization_id', '=', 'organizations.id')
          .where('account', '=', 'credits')
          .where('kind', 'in', fundingKinds)
          .as('granted_nanos'),
      )
      .where('organizations.id', 'in', ids)
      .execute(),
  )
  return rows.map(({ id, granted_nanos, total_nanos }) => ({
    organizationId: id,
    granted: granted_nanos ?? 0n,
    spent: total_nanos ?? 0n,
  }))
}

/** Keys that work now and expire until then. */
export async function loadExpiringKeys(db: Db, now: string, until: string) {
  const rows = await db
    .selectFrom('api_keys')
    .select(['id', 'hash', 'name', 'label', 'organization_id', 'workspace_id', 'expires_at'])
    .where('expires_at', '>', now)
    .where('expires_at', '<=', until)
    .where('disabled', '=', 0)
    .where('source', '<>', 'session')
    .execute()
  return rows.flatMap((row) => (row.expires_at === null ? [] : [{ ...row, expires_at: row.expires_at }]))
}

/** Loads destinations that failed while an event has waited since before that time, and disabled ones. */
export function loadFailingDestinations(db: Db, before: string) {
  return db
    .selectFrom('destinations')
    .innerJoin('destination_states as state', 'state.destination_id', 'destinations.id')
    .select(['destinations.id', 'destinations.name', 'destinations.type'])
    .select(['destinations.organization_id', 'destinations.workspace_id'])
    .select(['state.failures', 'state.disabled_reason'])
    .select((eb) =>
      eb
        .selectFrom('outbox_deliveries')
        .select((waiting) => waiting.fn.min<string | null>('created_at').as('since'))
        .whereRef('outbox_deliveries.destination_id', '=', 'destinations.id')
        .where('outbox_deliveries.state', '=', 'pending')
        .as('waiting_since'),
    )
    .where('destinations.deleted_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb('state.disabled_reason', 'is not', null),
        eb.and([
          eb('destinations.enabled', '=', 1),
          eb('state.paused', '=', 0),
          eb('state.failures', '>', 0),
          eb.exists(
            eb
              .selectFrom('outbox_deliveries as waiting')
              .select('waiting.event_id')
              .whereRef('waiting.destination_id', '=', 'destinations.id')
              .where('waiting.state', '=', 'pending')
              .where('waiting.created_at', '<=', before),
          ),
        ]),
      ]),
    )
    .execute()
}

/** A page of the inference keys that work, with the guardrail of their own. */
export function loadKeysAfter(db: Db, id: number, now: string) {
  return db
    .selectFrom('api_keys')
    .leftJoin('guardrail_keys', 'guardrail_keys.key_id', 'api_keys.id')
    .select(['api_keys.id', 'hash', 'name', 'api_keys.organization_id', 'workspace_id'])
    .select(['limit_nanos', 'limit_reset', 'include_byok_in_limit', 'guardrail_keys.guardrail_id'])
    .where('api_keys.id', '>', id)
    .where('kind', '=', 'inference')
    .where('disabled', '=', 0)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .orderBy('api_keys.id')
    .limit(maxIds)
    .execute()
}

/** The budgets of workspaces that exist. */
export function loadWorkspaceBudgets(db: Db) {
  return db
    .selectFrom('workspace_budgets')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_budgets.workspace_id')
    .select(['workspaces.organization_id', 'workspace_id', 'name', 'interval', 'limit_nanos'])
    .select('include_byok_in_budgets')
    .where('deleted_at', 'is', null)
    .execute()
}

/** A page of the limits of members, in all workspaces together. */
export function loadMemberLimitsAfter(db: Db, userId: string) {
  return db
    .selectFrom('member_limits')
    .innerJoin('members', 'members.id', 'member_limits.user_id')
    .select(['user_id', 'limit_nanos', 'limit_reset', 'members.organization_id', 'email'])
    .where('user_id', '>', userId)
    .where('active', '=', 1)
    .orderBy('user_id')
    .limit(maxIds)
    .execute()
}

/** Guardrails with a budget that is enforced. */
export function loadBudgetGuardrails(db: Db) {
  return db
    .selectFrom('guardrails')
    .select(['id', 'organization_id', 'workspace_id', 'name'])
    .select(['limit_nanos', 'reset_interval', 'include_byok_in_budgets'])
    .where('limit_nanos', 'is not', null)
    .where('dry_run', '=', 0)
    .execute()
}

export function loadGuardrailMembers(db: Db, guardrailIds: readonly string[]) {
  return loadInChunks(guardrailIds, (ids) =>
    db
      .selectFrom('guardrail_members')
      .innerJoin('members', 'members.id', 'guardrail_members.user_id')
      .select(['guardrail_id', 'workspace_id', 'user_id', 'email'])
      .where('guardrail_id', 'in', ids)
      .execute(),
  )
}

/** Keys that spent at least this in one of these hours. */
export function loadBusyHours(db: Db, hours: readonly string[], minNanos: bigint) {
  return db
    .selectFrom('key_hours')
    .innerJoin('api_keys', 'api_keys.id', 'key_hours.key_id')
    .select(['api_keys.id', 'hash', 'name', 'label', 'organization_id', 'workspace_id'])
    .select(['hour', 'usage_nanos'])
    .where('hour', 'in', hours)
    .where('usage_nanos', '>=', minNanos)
    .orderBy('hour', 'desc')
    .orderBy('api_keys.id')
    .execute()
}

export function loadKeyHours(db: Db, keyIds: readonly number[], fromHour: string) {
  return db
    .selectFrom('key_hours')
    .selectAll()
    .where('key_id', 'in', keyIds)
    .where('hour', '>=', fromHour)
    .execute()
}

export type FailingEndpoint = Selectable<FailingEndpointTable>

/** Replaces the failing endpoints that a node has stored. */
export async function replaceFailingEndpoints(
  db: Db,
  nodeId: string,
  rows: readonly FailingEndpoint[],
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('failing_endpoints').where('node_id', '=', nodeId).execute()
    if (rows.length > 0) await tx.insertInto('failing_endpoints').values(rows).execute()
  })
}

/**
 * Loads the failing endpoints of all nodes, with the owner of the BYOK key; null for the installation's own credential.
 */
export function loadFailingEndpoints(db: Db, since: string) {
  return db
    .selectFrom('failing_endpoints')
    .leftJoin('byok_keys', (join) =>
      join.onRef('byok_keys.id', '=', 'failing_endpoints.byok_key_id').on('byok_keys.deleted_at', 'is', null),
    )
    .select(['failing_endpoints.provider', 'model', 'byok_key_id', 'since', 'last_failure_at'])
    .select(['byok_keys.organization_id', 'byok_keys.name as byok_name', 'byok_keys.label as byok_label'])
    .where('last_failure_at', '>=', since)
    .orderBy('since')
    .execute()
}

/** Deletes the failures of nodes that have ended. */
export async function deleteStaleFailures(db: Db, before: string): Promise<void> {
  await db.deleteFrom('failing_endpoints').where('last_failure_at', '<', before).execute()
}
