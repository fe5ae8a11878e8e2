import type { Migration } from 'kysely/migration'
import { index, key, organization, required } from './columns.ts'
import { watchTable } from './revision-triggers.ts'

/** Shadows, the comparisons that they have made, and how many requests they have skipped. */
export const shadows: Migration = {
  async up(db) {
    await db.schema
      .createTable('shadows')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', (column) => column.references('workspaces.id'))
      .addColumn('key_id', 'integer', required)
      .addColumn('name', 'text', required)
      .addColumn('enabled', 'integer', required)
      .addColumn('share_ppm', 'integer', required)
      .addColumn('models', 'text')
      .addColumn('target', 'text', required)
      .addColumn('daily_nanos', 'bigint', required)
      .addColumn('max_body_bytes', 'integer', required)
      .addColumn('timeout_ms', 'integer', required)
      .addColumn('concurrency', 'integer', required)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
    await index(db, 'shadows_of_organization', 'shadows', ['organization_id', 'created_at'])
    await watchTable(db, { table: 'shadows' })
    await db.schema
      .createTable('shadow_comparisons')
      .addColumn('id', 'text', key)
      .addColumn('shadow_id', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('differs', 'integer', required)
      .addColumn('record', 'text', required)
      .execute()
    await index(db, 'shadow_comparisons_of_shadow', 'shadow_comparisons', ['shadow_id', 'created_at', 'id'])
    await db.schema
      .createTable('shadow_skips')
      .addColumn('shadow_id', 'text', required)
      .addColumn('day', 'text', required)
      .addColumn('reason', 'text', required)
      .addColumn('requests', 'bigint', required)
      .addPrimaryKeyConstraint('shadow_skips_key', ['shadow_id', 'day', 'reason'])
      .execute()
  },
}
