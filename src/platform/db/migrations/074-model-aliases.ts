import type { Migration } from 'kysely/migration'
import { key, organization, required } from './columns.ts'
import { watchTable } from './revision-triggers.ts'

/** Names of an organization or a workspace for models, and for groups of them. */
export const modelAliases: Migration = {
  async up(db) {
    await db.schema
      .createTable('model_aliases')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', (column) => column.references('workspaces.id'))
      .addColumn('name', 'text', required)
      .addColumn('models', 'text', required)
      .addColumn('rules', 'text', required)
      .addColumn('expires_at', 'text')
      .addColumn('replacement', 'text')
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
    const unique = (name: string, columns: string[]) =>
      db.schema.createIndex(name).unique().on('model_aliases').columns(columns)
    await unique('model_aliases_of_organization', ['organization_id', 'name'])
      .where('workspace_id', 'is', null)
      .execute()
    await unique('model_aliases_of_workspace', ['workspace_id', 'name'])
      .where('workspace_id', 'is not', null)
      .execute()
    await watchTable(db, { table: 'model_aliases' })
  },
}
