import type { Migration } from 'kysely/migration'
import { index, organization, required } from './columns.ts'

/** Which records sets of configuration files declare. */
export const managedRecords: Migration = {
  async up(db) {
    await db.schema
      .createTable('managed_records')
      .addColumn('organization_id', 'text', organization)
      .addColumn('kind', 'text', required)
      .addColumn('record_id', 'text', required)
      .addColumn('name', 'text', required)
      .addColumn('set_name', 'text', required)
      .addColumn('fields', 'text', required)
      .addColumn('secrets', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .addPrimaryKeyConstraint('managed_records_key', ['organization_id', 'kind', 'record_id'])
      .execute()
    await index(db, 'managed_records_of_set', 'managed_records', ['organization_id', 'set_name', 'kind'])
  },
}
