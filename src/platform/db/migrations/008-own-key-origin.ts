import type { Migration } from 'kysely/migration'

export const ownKeyOrigin: Migration = {
  async up(db) {
    await db.schema.alterTable('byok_keys').addColumn('origin', 'text').execute()
  },
}
