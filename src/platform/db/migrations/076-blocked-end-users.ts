import type { Migration } from 'kysely/migration'
import { organization, required } from './columns.ts'
import { watchTable } from './revision-triggers.ts'

/** The end users whose requests an organization rejects. */
export const blockedEndUsers: Migration = {
  async up(db) {
    await db.schema
      .createTable('blocked_end_users')
      .addColumn('organization_id', 'text', organization)
      .addColumn('name', 'text', required)
      .addColumn('reason', 'text')
      .addColumn('created_at', 'text', required)
      .addPrimaryKeyConstraint('blocked_end_users_key', ['organization_id', 'name'])
      .execute()
    await watchTable(db, { table: 'blocked_end_users' })
  },
}
