import type { Migration } from 'kysely/migration'
import { clustered, key, organization, required } from './columns.ts'

export const corrections: Migration = {
  async up(db) {
    const table = db.schema
      .createTable('corrections')
      .addColumn('generation_id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('previous_posting_id', 'text')
      .addColumn('previous_cost_nanos', 'bigint', required)
      .addColumn('previous_byok_nanos', 'bigint', required)
      .addColumn('posting_id', 'text')
      .addColumn('difference_nanos', 'bigint', required)
      .addColumn('created_at', 'text', required)
    await clustered(db, table)
  },
}
