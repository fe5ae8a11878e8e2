import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Columns and indexes to rotate the secrets of keys, and to list credits by time. */
export const administration: Migration = {
  async up(db) {
    // A key keeps its `hash`, which other records name, when it gets another secret.
    for (const column of ['secret_hash', 'previous_hash', 'previous_valid_until'])
      await db.schema.alterTable('api_keys').addColumn(column, 'text').execute()
    for (const column of ['secret_hash', 'previous_hash'])
      await db.schema.createIndex(`api_keys_by_${column}`).unique().on('api_keys').column(column).execute()
    // Only one side of each transaction is listed.
    await db.schema
      .createIndex('ledger_entries_by_time')
      .on('ledger_entries')
      .columns(['organization_id', 'created_at', 'id'])
      .where(sql<boolean>`account = 'credits'`)
      .execute()
  },
}
