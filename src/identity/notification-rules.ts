import type { Selectable, Updateable } from 'kysely'
import type { Vault } from '../platform/crypto/crypto.ts'
import { newUuid } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import { fetchPage, type RowPage } from '../platform/db/page.ts'
import type {
  NotificationDeliveryTable,
  NotificationKind,
  NotificationRuleTable,
} from '../platform/db/schema.ts'
import { decodeList } from '../platform/db/values.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { Pagination } from '../platform/validation/query-params.ts'
import type { Scope } from './permissions/grant.ts'

export type NotificationRule = Selectable<NotificationRuleTable>

interface KindInfo {
  /** The unit of the threshold. */
  unit: 'USD' | 'percent' | 'days' | 'minutes'
  defaultThreshold: number
  min: number
  max: number
  /** Whether a rule can be limited to one workspace. */
  hasWorkspaces: boolean
}

/** Kinds of notifications. A new organization has a rule for each, for the console only. */
export const notificationKinds: Record<NotificationKind, KindInfo> = {
  low_balance: { unit: 'USD', defaultThreshold: 100, min: 0.01, max: 1e9, hasWorkspaces: false },
  budget: { unit: 'percent', defaultThreshold: 80, min: 1, max: 100, hasWorkspaces: true },
  key_expiring: { unit: 'days', defaultThreshold: 7, min: 1, max: 365, hasWorkspaces: true },
  destination_failing: { unit: 'minutes', defaultThreshold: 30, min: 1, max: 10_080, hasWorkspaces: true },
  provider_failing: { unit: 'minutes', defaultThreshold: 15, min: 1, max: 1440, hasWorkspaces: false },
  unusual_spend: { unit: 'USD', defaultThreshold: 5, min: 0.01, max: 1e9, hasWorkspaces: true },
}

export const notificationKindNames = Object.keys(notificationKinds) as NotificationKind[]

export async function insertDefaultRules(tx: Db, clock: Clock, organizationId: string): Promise<void> {
  const now = isoNow(clock)
  const rows = notificationKindNames.map((kind) => ({
    id: newUuid(),
    organization_id: organizationId,
    workspace_id: null,
    kind,
    threshold: notificationKinds[kind].defaultThreshold,
    emails: '[]',
    webhook_url: null,
    sealed_webhook_secret: null,
    digest: 'immediate' as const,
    enabled: 1 as const,
    created_at: now,
    updated_at: now,
  }))
  await tx.insertInto('notification_rules').values(rows).execute()
}

/** Lists the rules in the scope, oldest first. */
export function listRules(
  db: Db,
  { organizationId, scope }: { organizationId: string; scope: Scope },
  page: Pagination,
): Promise<RowPage<NotificationRule>> {
  let query = db.selectFrom('notification_rules').selectAll().where('organization_id', '=', organizationId)
  if (!scope.everywhere) query = query.where('workspace_id', 'in', ['', ...scope.workspaceIds])
  return fetchPage(query, page)
}

export function findRule(db: Db, organizationId: string, id: string): Promise<NotificationRule | undefined> {
  return db
    .selectFrom('notification_rules')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Locks a rule, like `tryLockWorkspace`: a no-op update serializes changes to one rule. */
export function lockRule(tx: Db, organizationId: string, id: string): Promise<NotificationRule | undefined> {
  return tx
    .updateTable('notification_rules')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export function insertRule(
  tx: Db,
  clock: Clock,
  row: Omit<NotificationRule, 'created_at' | 'updated_at'>,
): Promise<NotificationRule> {
  const now = isoNow(clock)
  return tx
    .insertInto('notification_rules')
    .values({ ...row, created_at: now, updated_at: now })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export function updateRule(
  tx: Db,
  clock: Clock,
  id: string,
  changes: Updateable<NotificationRuleTable>,
): Promise<NotificationRule> {
  return tx
    .updateTable('notification_rules')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes pending deliveries, except to the addresses that remain. */
export async function dropPending(
  tx: Db,
  ruleId: string,
  remainingAddresses: readonly string[],
): Promise<void> {
  await tx
    .deleteFrom('notification_deliveries')
    .where('rule_id', '=', ruleId)
    .where('state', '=', 'pending')
    .where('address', 'not in', ['', ...remainingAddresses])
    .execute()
}

export async function deleteRule(tx: Db, id: string): Promise<void> {
  await dropPending(tx, id, [])
  await tx.deleteFrom('notification_rules').where('id', '=', id).execute()
}

export function listEnabledRules(db: Db): Promise<NotificationRule[]> {
  return db.selectFrom('notification_rules').selectAll().where('enabled', '=', 1).execute()
}

type ChannelName = NotificationDeliveryTable['channel']

export const channelNames = Object.keys({
  email: true,
  webhook: true,
} satisfies Record<ChannelName, true>) as ChannelName[]

/** An address of a rule. */
export interface RuleChannel {
  channel: ChannelName
  address: string
}

export function listChannels(rule: Pick<NotificationRule, 'emails' | 'webhook_url'>): RuleChannel[] {
  const addresses: Record<ChannelName, string[]> = {
    email: decodeList<string>(rule.emails) ?? [],
    webhook: rule.webhook_url === null ? [] : [rule.webhook_url],
  }
  return channelNames.flatMap((channel) => addresses[channel].map((address) => ({ channel, address })))
}

export function openWebhookSecret(
  vault: Vault,
  { id, sealed_webhook_secret }: Pick<NotificationRule, 'id' | 'sealed_webhook_secret'>,
): string | null {
  return sealed_webhook_secret === null
    ? null
    : vault.decrypt(sealed_webhook_secret, webhookSecretContext(id))
}

/** The context that the encrypted secret of a rule is bound to. */
export function webhookSecretContext(ruleId: string): string {
  return `notification-webhook/${ruleId}`
}
