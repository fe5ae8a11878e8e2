import type { Migration } from 'kysely/migration'
import { flag, index, key, required } from './columns.ts'

export const contentFilters: Migration = {
  async up(db) {
    await db.schema.alterTable('guardrails').addColumn('dry_run', 'integer', flag).execute()
    await db.schema.alterTable('guardrails').addColumn('unscannable_content', 'text').execute()
    await db.schema.alterTable('guardrails').addColumn('moderation', 'text').execute()
    await db.schema
      .createTable('guardrail_hits')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', required)
      .addColumn('workspace_id', 'text', required)
      .addColumn('key_id', 'integer', required)
      .addColumn('generation_id', 'text', required)
      .addColumn('rule', 'text', required)
      .addColumn('action', 'text', required)
      .addColumn('enforced', 'integer', required)
      .addColumn('direction', 'text', required)
      .addColumn('part', 'text', required)
      .addColumn('role', 'text')
      .addColumn('count', 'integer', required)
      .addColumn('kinds', 'text', required)
      .addColumn('layers', 'text', required)
      .addColumn('created_at', 'text', required)
      .execute()
    await index(db, 'guardrail_hits_generation', 'guardrail_hits', ['generation_id'])
    await index(db, 'guardrail_hits_organization', 'guardrail_hits', ['organization_id', 'created_at'])
  },
}
