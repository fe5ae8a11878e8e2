import { type Kysely, PostgresAdapter, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { key, required } from './columns.ts'
import { type WatchedTable, watchTable } from './revision-triggers.ts'

/** Tables of account data that requests read. */
const tables: WatchedTable[] = [
  ...[
    'allowed_phrases',
    'api_keys',
    'byok_keys',
    'destinations',
    'guardrail_keys',
    'guardrail_members',
    'guardrails',
    'organizations',
    'preset_versions',
    'presets',
    'signing_keys',
    'workspace_budgets',
    'workspaces',
  ].map((table) => ({ table })),
  // Only what was granted or purchased is read: there are charges all the time.
  { table: 'ledger_entries', where: (row) => `${row}.kind <> 'charge'` },
]

/** One row, whose number every change of account data increases: caches are valid while it stays the same. */
export const accountRevision: Migration = {
  async up(db) {
    await db.schema
      .createTable('account_revision')
      .addColumn('id', 'integer', key)
      .addColumn('revision', 'bigint', required)
      .execute()
    await sql`insert into account_revision (id, revision) values (1, 1)`.execute(db)
    if (db.getExecutor().adapter instanceof PostgresAdapter) await createFunction(db)
    for (const table of tables) await watchTable(db, table)
  },
}

/** Increases the revision once in a transaction. The search path is fixed: `pg_restore` runs with an empty one. */
async function createFunction(db: Kysely<unknown>): Promise<void> {
  await sql`create function increase_account_revision() returns trigger
    language plpgsql set search_path from current as $$
    begin
      if current_setting('headgate.revised_by', true) is distinct from pg_current_xact_id()::text then
        perform set_config('headgate.revised_by', pg_current_xact_id()::text, true);
        update account_revision set revision = revision + 1;
      end if;
      return null;
    end $$`.execute(db)
}
