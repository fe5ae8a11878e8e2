import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'

export const entrySummaries: Migration = {
  async up(db) {
    await db.schema.alterTable('ledger_entries').addColumn('entry_count', 'bigint').execute()
    await db.schema.alterTable('ledger_entries').addColumn('last_entry_at', 'text').execute()
    await sql`insert into instance (name, value) values ('entries_compacted', '0')`.execute(db)
  },
}
