import type { Migration } from 'kysely/migration'
import { index } from './columns.ts'

/**
 * The outcome of the request of an idempotency key, and the size of its stored response. Deleting a caller deletes its
 * idempotency keys.
 */
export const idempotencyOutcomes: Migration = {
  async up(db) {
    const table = db.schema.alterTable('idempotency_keys')
    await table.addColumn('outcome', 'text').execute()
    await table.addColumn('bytes', 'integer', (column) => column.notNull().defaultTo(0)).execute()
    await table
      .addColumn('key_id', 'integer', (column) => column.references('api_keys.id').onDelete('cascade'))
      .execute()
    await table
      .addColumn('user_id', 'text', (column) => column.references('members.id').onDelete('cascade'))
      .execute()
    await index(db, 'idempotency_keys_bytes', 'idempotency_keys', ['organization_id', 'bytes'])
    await index(db, 'idempotency_keys_key', 'idempotency_keys', ['key_id'])
    await index(db, 'idempotency_keys_user', 'idempotency_keys', ['user_id'])
  },
}
