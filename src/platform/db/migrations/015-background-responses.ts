import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

export const backgroundResponses: Migration = {
  async up(db) {
    await db.schema
      .createTable('background_responses')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', required)
      .addColumn('node_id', 'text', required)
      .addColumn('status', 'text', required)
      .addColumn('is_cancelled', 'integer', flag)
      .addColumn('body', 'text', required)
      .addColumn('created_at', 'text', required)
      .execute()
    await index(db, 'background_responses_workspace', 'background_responses', ['workspace_id'])
  },
}
