import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

/** Deletions of what is stored of an end user. The rows are their receipts, and are never deleted. */
export const erasures: Migration = {
  async up(db) {
    await db.schema
      .createTable('erasures')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('end_user_hash', 'text', required)
      .addColumn('sealed_end_user', 'text')
      .addColumn('pseudonym', 'text', required)
      .addColumn('requested_by', 'text', required)
      .addColumn('requested_at', 'text', required)
      .addColumn('completed_at', 'text')
      .addColumn('counts', 'text', required)
      .addColumn('progress', 'text', required)
      .addColumn('cached_replies', 'integer', flag)
      .addColumn('due_at', 'text')
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'text')
      .execute()
    await index(db, 'erasures_by_time', 'erasures', ['organization_id', 'requested_at', 'id'])
    await index(db, 'erasures_due', 'erasures', ['due_at'])
    await index(db, 'erasures_recent', 'erasures', ['requested_at'])
  },
}
