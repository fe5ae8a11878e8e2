import type { Migration } from 'kysely/migration'
import { key, organization, required } from './columns.ts'

/** What keys, workspaces and members had spent elsewhere when they were imported. */
export const openingSpend: Migration = {
  async up(db) {
    await db.schema
      .createTable('opening_spend')
      .addColumn('subject', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('amount_nanos', 'bigint', required)
      .addColumn('day', 'text')
      .addColumn('day_nanos', 'bigint', required)
      .addColumn('created_at', 'text', required)
      .execute()
  },
}
