import type { Migration } from 'kysely/migration'
import { index } from './columns.ts'

export const largeInstallations: Migration = {
  async up(db) {
    // A roll-up that is added later lacks the requests of before.
    await db.schema.alterTable('usage_segments').addColumn('requests', 'bigint').execute()
    // With all that the list of keys compares, so that a page far down the list reads no rows before it.
    await db.schema.dropIndex('api_keys_page').execute()
    await db.schema.dropIndex('api_keys_enabled_page').execute()
    const compared = ['source', 'creator_user_id']
    await index(db, 'api_keys_page', 'api_keys', ['workspace_id', 'kind', 'id', ...compared])
    await index(db, 'api_keys_enabled_page', 'api_keys', [
      ...['workspace_id', 'kind', 'disabled', 'id'],
      ...compared,
    ])
  },
}
