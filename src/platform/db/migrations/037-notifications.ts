import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { deriveUuid } from '../../crypto/ids.ts'
import { clustered, flag, index, key, organization, required } from './columns.ts'

/** Rules, notifications and deliveries, and the hourly spending of each key, to recognize unusual spending. */
export const notifications: Migration = {
  async up(db) {
    await createRules(db)
    await createNotifications(db)
    await createDeliveries(db)
    await clustered(
      db,
      db.schema
        .createTable('key_hours')
        .addColumn('key_id', 'integer', required)
        .addColumn('hour', 'text', required)
        .addColumn('usage_nanos', 'bigint', required)
        .addPrimaryKeyConstraint('key_hours_pk', ['key_id', 'hour']),
    )
    await index(db, 'key_hours_by_hour', 'key_hours', ['hour'])
    await db.schema
      .createTable('failing_endpoints')
      .addColumn('node_id', 'text', required)
      .addColumn('health_id', 'text', required)
      .addColumn('provider', 'text', required)
      .addColumn('model', 'text', required)
      .addColumn('byok_key_id', 'text')
      .addColumn('since', 'text', required)
      .addColumn('last_failure_at', 'text', required)
      .addPrimaryKeyConstraint('failing_endpoints_pk', ['node_id', 'health_id'])
      .execute()
    await addDefaultRules(db)
  },
}

async function createRules(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('notification_rules')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text')
    .addColumn('kind', 'text', required)
    .addColumn('threshold', 'double precision', required)
    .addColumn('emails', 'text', required)
    .addColumn('webhook_url', 'text')
    .addColumn('sealed_webhook_secret', 'text')
    .addColumn('digest', 'text', required)
    .addColumn('enabled', 'integer', required)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .execute()
  await index(db, 'notification_rules_organization', 'notification_rules', ['organization_id', 'created_at'])
}

async function createNotifications(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('notifications')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text')
    .addColumn('kind', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('level', 'double precision', required)
    .addColumn('period', 'text', required)
    .addColumn('title', 'text', required)
    .addColumn('text', 'text', required)
    .addColumn('data', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('read_at', 'text')
    .addUniqueConstraint('notifications_once', ['organization_id', 'kind', 'subject', 'level', 'period'])
    .execute()
  await index(db, 'notifications_by_time', 'notifications', ['organization_id', 'created_at'])
  await index(db, 'notifications_by_period', 'notifications', ['kind', 'period'])
  await index(db, 'notifications_expired', 'notifications', ['created_at'])
}

async function createDeliveries(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('notification_deliveries')
    .addColumn('id', 'text', key)
    .addColumn('notification_id', 'text', required)
    .addColumn('rule_id', 'text', required)
    .addColumn('organization_id', 'text', organization)
    .addColumn('channel', 'text', required)
    .addColumn('address', 'text', required)
    .addColumn('message_id', 'text', required)
    .addColumn('is_digest', 'integer', flag)
    .addColumn('state', 'text', required)
    .addColumn('attempts', 'integer', flag)
    .addColumn('due_at', 'text', required)
    .addColumn('lease_owner', 'text')
    .addColumn('lease_until', 'text')
    .addColumn('error', 'text')
    .addUniqueConstraint('notification_deliveries_once', ['notification_id', 'rule_id', 'channel', 'address'])
    .execute()
  await index(db, 'notification_deliveries_due', 'notification_deliveries', ['state', 'due_at'])
  await index(db, 'notification_deliveries_message', 'notification_deliveries', ['message_id'])
  await index(db, 'notification_deliveries_rule', 'notification_deliveries', ['rule_id'])
}

const defaults: [kind: string, threshold: number][] = [
  ['low_balance', 100],
  ['budget', 80],
  ['key_expiring', 7],
  ['destination_failing', 30],
  ['provider_failing', 15],
  ['unusual_spend', 5],
]

/** New organizations get the same. */
async function addDefaultRules(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<Owner>`select id, created_at from organizations`.execute(db)
  for (const row of rows) for (const rule of defaults) await addDefaultRule(db, row, rule)
}

interface Owner {
  id: string
  created_at: string
}

async function addDefaultRule(
  db: Kysely<unknown>,
  { id, created_at }: Owner,
  [kind, threshold]: [string, number],
): Promise<void> {
  await sql`insert into notification_rules
    (id, organization_id, kind, threshold, emails, digest, enabled, created_at, updated_at) values
    (${deriveUuid('notification-rule', id, kind)}, ${id}, ${kind}, ${threshold}, '[]', 'immediate', 1,
    ${created_at}, ${created_at})`.execute(db)
}
