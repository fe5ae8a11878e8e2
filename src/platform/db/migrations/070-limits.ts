import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'
import { watchTable } from './revision-triggers.ts'

/** Declared limits, the tiers that give keys the same limits, and the counts of long windows. */
export const limits: Migration = {
  async up(db) {
    await db.schema
      .createTable('limit_tiers')
      .addColumn('organization_id', 'text', organization)
      .addColumn('name', 'text', required)
      .addColumn('description', 'text')
      .addColumn('is_default', 'integer', flag)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .addPrimaryKeyConstraint('limit_tiers_key', ['organization_id', 'name'])
      .execute()
    await db.schema
      .createTable('limits')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('name', 'text', required)
      .addColumn('measure', 'text', required)
      .addColumn('period', 'text')
      .addColumn('amount', 'bigint', required)
      .addColumn('include_byok', 'integer', flag)
      .addColumn('enabled', 'integer', flag)
      .addColumn('workspace_id', 'text', (column) => column.references('workspaces.id').onDelete('cascade'))
      .addColumn('user_id', 'text', (column) => column.references('members.id').onDelete('cascade'))
      .addColumn('key_id', 'integer', (column) => column.references('api_keys.id').onDelete('cascade'))
      .addColumn('tier', 'text')
      .addColumn('end_user', 'text')
      .addColumn('tags', 'text', required)
      .addColumn('models', 'text', required)
      .addColumn('providers', 'text', required)
      .addColumn('per', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
    for (const owner of ['organization_id', 'workspace_id', 'user_id', 'key_id'])
      await index(db, `limits_by_${owner}`, 'limits', [owner])
    await db.schema.alterTable('api_keys').addColumn('tier', 'text').execute()
    await db.schema
      .createTable('limit_counts')
      .addColumn('name', 'text', key)
      .addColumn('limit_id', 'text', (column) => column.notNull().references('limits.id').onDelete('cascade'))
      .addColumn('period_start', 'bigint', required)
      .addColumn('used', 'bigint', required)
      .addColumn('counted_at', 'text', required)
      .execute()
    await index(db, 'limit_counts_by_limit', 'limit_counts', ['limit_id'])
    for (const table of ['limits', 'api_keys']) await watchTable(db, { table })
  },
}
