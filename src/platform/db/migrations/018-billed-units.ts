import type { Migration } from 'kysely/migration'

export const billedUnits: Migration = {
  async up(db) {
    await db.schema.alterTable('generations').addColumn('billed_units', 'text').execute()
  },
}
