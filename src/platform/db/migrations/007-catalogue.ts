import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { required } from './columns.ts'

export const catalogue: Migration = {
  async up(db) {
    await db.schema
      .createTable('catalogue_edits')
      .addColumn('kind', 'text', required)
      .addColumn('name', 'text', required)
      .addColumn('tag', 'text', required)
      .addColumn('fields', 'text', required)
      .addColumn('sealed_secrets', 'text')
      .addColumn('updated_at', 'text', required)
      .addPrimaryKeyConstraint('catalogue_edits_pk', ['kind', 'name', 'tag'])
      .execute()
    await sql`insert into instance (name, value) values ('catalogue_version', '0')`.execute(db)
  },
}
