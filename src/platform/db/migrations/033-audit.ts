import type { Migration } from 'kysely/migration'
import { index, key, required } from './columns.ts'

/** Append-only, a chain of hashes for each organization. */
export const audit: Migration = {
  async up(db) {
    await db.schema
      .createTable('audit_entries')
      .addColumn('chain_id', 'text', required)
      .addColumn('seq', 'integer', required)
      .addColumn('id', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('action', 'text', required)
      .addColumn('outcome', 'text', required)
      .addColumn('actor_type', 'text', required)
      .addColumn('actor_id', 'text')
      .addColumn('actor_name', 'text')
      .addColumn('ip', 'text')
      .addColumn('user_agent', 'text')
      .addColumn('request_id', 'text')
      .addColumn('workspace_id', 'text')
      .addColumn('target_type', 'text', required)
      .addColumn('target_id', 'text', required)
      .addColumn('target_name', 'text')
      .addColumn('changes', 'text')
      .addColumn('previous_hash', 'text', required)
      .addColumn('hash', 'text', required)
      .addPrimaryKeyConstraint('audit_entries_key', ['chain_id', 'seq'])
      .execute()
    await index(db, 'audit_entries_by_time', 'audit_entries', ['chain_id', 'created_at'])
    await db.schema
      .createTable('audit_chains')
      .addColumn('chain_id', 'text', key)
      .addColumn('seq', 'integer', required)
      .addColumn('hash', 'text', required)
      .addColumn('signature', 'text', required)
      .execute()
  },
}
