import type { Migration } from 'kysely/migration'

/** Files may be in another store than the data directory. */
export const fileStorage: Migration = {
  async up(db) {
    await db.schema.alterTable('files').addColumn('storage', 'text').execute()
  },
}
