import type { Migration } from 'kysely/migration'
import { clustered, flag, index, key, organization, required } from './columns.ts'

/** Finished requests on their way to the destinations of their workspace. */
export const outbox: Migration = {
  async up(db) {
    await db.schema
      .createTable('outbox_events')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', required)
      .addColumn('sealed_event', 'text', required)
      .addColumn('size', 'integer', required)
      .addColumn('created_at', 'text', required)
      .execute()
    await index(db, 'outbox_events_age', 'outbox_events', ['created_at'])
    await clustered(
      db,
      db.schema
        .createTable('outbox_deliveries')
        .addColumn('destination_id', 'text', required)
        .addColumn('event_id', 'text', required)
        .addColumn('created_at', 'text', required)
        .addColumn('size', 'integer', required)
        .addColumn('shared_parts', 'integer', required)
        .addColumn('state', 'text', required)
        .addColumn('attempts', 'integer', flag)
        .addColumn('sealed_error', 'text')
        .addPrimaryKeyConstraint('outbox_deliveries_key', ['destination_id', 'event_id']),
    )
    await index(db, 'outbox_deliveries_next', 'outbox_deliveries', [
      'destination_id',
      'state',
      'created_at',
      'event_id',
    ])
    await index(db, 'outbox_deliveries_event', 'outbox_deliveries', ['event_id'])
    await db.schema
      .createTable('destination_states')
      .addColumn('destination_id', 'text', key)
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'text')
      .addColumn('served_at', 'text')
      .addColumn('failures', 'integer', flag)
      .addColumn('retry_at', 'text')
      .addColumn('last_success_at', 'text')
      .addColumn('last_error_at', 'text')
      .addColumn('sealed_error', 'text')
      .addColumn('paused', 'integer', flag)
      .addColumn('disabled_reason', 'text')
      .addColumn('delivered', 'bigint', flag)
      .addColumn('dropped', 'bigint', flag)
      .execute()
  },
}
