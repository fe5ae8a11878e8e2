import type { Migration } from 'kysely/migration'

export const defaultPlugins: Migration = {
  async up(db) {
    await db.schema.alterTable('organizations').addColumn('default_plugins', 'text').execute()
  },
}
