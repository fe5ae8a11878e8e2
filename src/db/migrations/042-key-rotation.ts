import type { Migration } from 'kysely/migration'

/** A key keeps its `hash`, which other records name, when it gets another secret. */
export const keyRotation: Migration = {
  async up(db) {
    for (const column of ['secret_hash', 'previous_hash', 'previous_valid_until'])
      await db.schema.alterTable('api_keys').addColumn(column, 'text').execute()
    for (const column of ['secret_hash', 'previous_hash'])
      await db.schema.createIndex(`api_keys_by_${column}`).unique().on('api_keys').column(column).execute()
  },
}
