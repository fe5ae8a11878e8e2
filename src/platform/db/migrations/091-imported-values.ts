import type { Migration } from 'kysely/migration'
import { key, organization, required } from './columns.ts'

/** What an import has set, by which a later one sees what has been changed here since. */
export const importedValues: Migration = {
  async up(db) {
    await db.schema
      .createTable('imported_values')
      .addColumn('subject', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('fields', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
  },
}
