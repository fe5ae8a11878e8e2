import type { Migration } from 'kysely/migration'
import { index, key, organization, required } from './columns.ts'

/** Searches of the console's screens, by name. */
export const savedViews: Migration = {
  async up(db) {
    await db.schema
      .createTable('saved_views')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', (column) => column.references('workspaces.id'))
      .addColumn('visibility', 'text', required)
      .addColumn('creator', 'text', required)
      .addColumn('screen', 'text', required)
      .addColumn('name', 'text', required)
      .addColumn('search', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
    await index(db, 'saved_views_of_creator', 'saved_views', ['creator', 'screen'])
    await index(db, 'saved_views_shared', 'saved_views', ['organization_id', 'visibility', 'workspace_id'])
  },
}
