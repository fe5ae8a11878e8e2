import type { Migration } from 'kysely/migration'
import { organization, required } from './columns.ts'

export const datasets: Migration = {
  async up(db) {
    await db.schema
      .createTable('daily_requests')
      .addColumn('organization_id', 'text', organization)
      .addColumn('name', 'text', required)
      .addColumn('day', 'text', required)
      .addColumn('requests', 'integer', required)
      .addPrimaryKeyConstraint('daily_requests_key', ['organization_id', 'name', 'day'])
      .execute()
  },
}
