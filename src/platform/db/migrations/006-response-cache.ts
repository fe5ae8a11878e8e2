import type { Migration } from 'kysely/migration'

export const responseCache: Migration = {
  async up(db) {
    await db.schema.alterTable('generations').addColumn('response_cache_source_id', 'text').execute()
  },
}
