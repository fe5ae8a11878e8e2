import type { Migration } from 'kysely/migration'
import { key, organization, required } from './columns.ts'
import { watchTable } from './revision-triggers.ts'

/** Rules of an organization or a workspace about where requests are routed. */
export const routingRules: Migration = {
  async up(db) {
    await db.schema
      .createTable('routing_rules')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', (column) => column.references('workspaces.id'))
      .addColumn('name', 'text', required)
      .addColumn('description', 'text')
      .addColumn('position', 'integer', required)
      .addColumn('enabled', 'integer', required)
      .addColumn('condition', 'text', required)
      .addColumn('action', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
    await db.schema
      .createIndex('routing_rules_of_organization')
      .on('routing_rules')
      .columns(['organization_id', 'position'])
      .execute()
    await watchTable(db, { table: 'routing_rules' })
  },
}
