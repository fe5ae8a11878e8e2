import type { Migration } from 'kysely/migration'

export const authCodeKey: Migration = {
  async up(db) {
    await db.schema.alterTable('auth_codes').addColumn('key_id', 'bigint').execute()
  },
}
