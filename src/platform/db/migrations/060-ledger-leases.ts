import type { Migration } from 'kysely/migration'
import { key, required } from './columns.ts'

/** What nodes that share a database decide by themselves: their journals, and the meters without leases. */
export const ledgerLeases: Migration = {
  async up(db) {
    await db.schema
      .createTable('ledger_journals')
      .addColumn('id', 'text', key)
      .addColumn('node_id', 'text', required)
      .addColumn('flushed', 'bigint', required)
      .addColumn('renewed_at', 'text', required)
      .addColumn('taken_at', 'text')
      .execute()
    await db.schema
      .createTable('lease_recalls')
      .addColumn('subject', 'text', key)
      .addColumn('until', 'text', required)
      .execute()
  },
}
