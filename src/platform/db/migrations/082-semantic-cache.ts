import type { Migration } from 'kysely/migration'
import { index, key, organization, required } from './columns.ts'

/** Replies that requests with similar texts may be answered with, and the similarity of those that were. */
export const semanticCache: Migration = {
  async up(db) {
    await db.schema
      .createTable('semantic_cache_entries')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', required)
      .addColumn('scope', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('expires_at', 'text', required)
      .addColumn('vector', 'bytea', required)
      .addColumn('reply', 'text', required)
      .execute()
    const table = 'semantic_cache_entries'
    await index(db, 'semantic_cache_entries_scope', table, ['scope', 'created_at', 'id'])
    await index(db, 'semantic_cache_entries_workspace', table, ['workspace_id', 'created_at', 'id'])
    await index(db, 'semantic_cache_entries_expiry', table, ['expires_at'])
    await db.schema.alterTable('generations').addColumn('cache_similarity', 'integer').execute()
  },
}
