import type { Migration } from 'kysely/migration'
import { flag, index, organization, required, workspace } from './columns.ts'

export const containers: Migration = {
  async up(db) {
    await db.schema
      .createTable('containers')
      .addColumn('workspace_id', 'text', workspace)
      .addColumn('id', 'text', required)
      .addColumn('organization_id', 'text', organization)
      .addColumn('folder_id', 'text', required)
      .addColumn('home', 'text', required)
      .addColumn('network_policy', 'text', required)
      .addColumn('nonce', 'text')
      .addColumn('size_bytes', 'bigint', flag)
      .addColumn('created_at', 'text', required)
      .addColumn('last_used_at', 'text', required)
      .addPrimaryKeyConstraint('containers_pk', ['workspace_id', 'id'])
      .execute()
    await index(db, 'containers_age', 'containers', ['folder_id', 'last_used_at'])
  },
}
