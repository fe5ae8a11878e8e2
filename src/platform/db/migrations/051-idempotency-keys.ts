import type { Migration } from 'kysely/migration'
import { index, key, organization, required } from './columns.ts'

/** The responses of requests with an `Idempotency-Key`, which a repeated request gets again. */
export const idempotencyKeys: Migration = {
  async up(db) {
    await db.schema
      .createTable('idempotency_keys')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('fingerprint', 'text', required)
      .addColumn('response', 'text')
      .addColumn('created_at', 'text', required)
      .execute()
    await index(db, 'idempotency_keys_created', 'idempotency_keys', ['organization_id', 'created_at'])
    await index(db, 'idempotency_keys_expiry', 'idempotency_keys', ['created_at'])
  },
}
