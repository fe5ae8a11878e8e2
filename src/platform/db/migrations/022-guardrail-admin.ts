import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

export const guardrailAdmin: Migration = {
  async up(db) {
    await db.schema.alterTable('organizations').addColumn('privacy_locked', 'integer', flag).execute()
    await db.schema.alterTable('guardrail_hits').addColumn('user_id', 'text').execute()
    await db.schema.dropIndex('guardrail_hits_organization').execute()
    await index(db, 'guardrail_hits_by_organization', 'guardrail_hits', [
      'organization_id',
      'created_at',
      'id',
    ])
    await index(db, 'guardrail_hits_by_key', 'guardrail_hits', ['key_id', 'created_at', 'id'])
    await index(db, 'guardrail_hits_by_age', 'guardrail_hits', ['created_at'])
    await index(db, 'generation_contents_by_organization', 'generation_contents', [
      'organization_id',
      'created_at',
      'generation_id',
    ])
    await db.schema
      .createTable('allowed_phrases')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('phrase', 'text', required)
      .addColumn('folded', 'text', required)
      .addColumn('created_by', 'text')
      .addColumn('created_at', 'text', required)
      .addUniqueConstraint('allowed_phrases_folded', ['organization_id', 'folded'])
      .execute()
  },
}
