import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { key, required } from './columns.ts'

/** The models that providers list themselves, and what has changed in these lists. */
export const modelLists: Migration = {
  async up(db) {
    await db.schema
      .createTable('model_lists')
      .addColumn('provider', 'text', key)
      .addColumn('models', 'text', required)
      .addColumn('refreshed_at', 'text')
      .addColumn('checked_at', 'text', required)
      .addColumn('problem', 'text')
      .execute()
    await db.schema
      .createTable('model_list_changes')
      .addColumn('id', 'text', key)
      .addColumn('provider', 'text', required)
      .addColumn('model', 'text', required)
      .addColumn('kind', 'text', required)
      .addColumn('before', 'text')
      .addColumn('after', 'text')
      .addColumn('created_at', 'text', required)
      .execute()
    await sql`insert into instance (name, value) values ('model_lists_version', '0')`.execute(db)
  },
}
