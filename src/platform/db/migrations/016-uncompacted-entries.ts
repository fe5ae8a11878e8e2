import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Charges are compacted in the order of their time, which is not that of their ids where a clock was ahead. */
export const uncompactedEntries: Migration = {
  async up(db) {
    await sql`create index ledger_entries_uncompacted on ledger_entries (created_at)
      where kind = 'charge' and entry_count is null`.execute(db)
    await sql`delete from instance where name = 'entries_compacted'`.execute(db)
    await sql`insert into instance (name, value) values ('compaction_steps', '0')`.execute(db)
    for (const column of ['posting_id', 'previous_posting_id']) {
      await db.schema.createIndex(`corrections_${column}`).on('corrections').column(column).execute()
    }
  },
}
