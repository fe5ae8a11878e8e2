import type { Migration } from 'kysely/migration'
import { flag } from './columns.ts'
import { watchTable } from './revision-triggers.ts'

/** Limits and tiers that headgate.yaml declares. */
export const settingsLimits: Migration = {
  async up(db) {
    for (const table of ['limits', 'limit_tiers'])
      await db.schema.alterTable(table).addColumn('from_settings', 'integer', flag).execute()
    await watchTable(db, { table: 'limits' })
  },
}
