import type { Migration } from 'kysely/migration'
import { flag, index, key, required } from './columns.ts'

/** Columns that `GET /audit` filters by. Each list is read from one index, newest first. */
const filters = ['action', 'actor_id', 'target_id', 'workspace_id', 'request_id']

/** Searching, shortening and delivering the audit log. */
export const auditDelivery: Migration = {
  async up(db) {
    await db.schema.dropIndex('audit_entries_by_time').execute()
    await index(db, 'audit_entries_by_time', 'audit_entries', ['chain_id', 'created_at', 'seq'])
    for (const column of filters) {
      const columns = ['chain_id', column, 'created_at', 'seq']
      await index(db, `audit_entries_by_${column}`, 'audit_entries', columns)
    }
    const chains = () => db.schema.alterTable('audit_chains')
    await chains()
      .addColumn('first_seq', 'integer', (column) => required(column).defaultTo(1))
      .execute()
    for (const name of ['first_hash', 'first_signature'])
      await chains()
        .addColumn(name, 'text', (column) => required(column).defaultTo(''))
        .execute()
    await db.schema
      .createTable('audit_destinations')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', (column) => required(column).references('organizations.id'))
      .addColumn('chain_id', 'text', required)
      .addColumn('name', 'text', required)
      .addColumn('type', 'text', required)
      .addColumn('config', 'text', required)
      .addColumn('sealed_secrets', 'text', required)
      .addColumn('action_prefixes', 'text')
      .addColumn('enabled', 'integer', required)
      .addColumn('position', 'integer', required)
      .addColumn('delivered', 'integer', flag)
      .addColumn('missed', 'integer', flag)
      .addColumn('failures', 'integer', flag)
      .addColumn('retry_at', 'text')
      .addColumn('last_success_at', 'text')
      .addColumn('last_error', 'text')
      .addColumn('last_error_at', 'text')
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'text')
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
    await index(db, 'audit_destinations_by_organization', 'audit_destinations', ['organization_id'])
  },
}
