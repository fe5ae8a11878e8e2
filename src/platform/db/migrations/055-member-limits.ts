import type { Migration } from 'kysely/migration'
import { key, required } from './columns.ts'
import { watchTable } from './revision-triggers.ts'

/** The spending limit of all keys of a member together. */
export const memberLimits: Migration = {
  async up(db) {
    await db.schema
      .createTable('member_limits')
      .addColumn('user_id', 'text', (column) => key(column).references('members.id').onDelete('cascade'))
      .addColumn('limit_nanos', 'bigint', required)
      .addColumn('limit_reset', 'text')
      .addColumn('updated_at', 'text', required)
      .execute()
    await watchTable(db, { table: 'member_limits' })
  },
}
