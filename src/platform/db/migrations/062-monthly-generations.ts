import { type Kysely, PostgresAdapter, sql } from 'kysely'
import { inTransaction, type SchemaMigration } from '../migrate/steps.ts'
import { monthOf } from '../monthly/months.ts'
import { boundName, describeUncovered, monthlyTables, partitionTable } from '../monthly/partitions.ts'

/**
 * PostgreSQL stores generations by month. Only empty tables are replaced here: those with rows are replaced in the
 * background, where a check of every row holds no lock (`monthly/maintenance.ts`).
 */
export const monthlyGenerations: SchemaMigration = {
  steps: [inTransaction('store generations by month', partitionEmptyTables)],
  isCompatibleBecause:
    'Only empty tables are replaced, by ones of the same name, columns and key, whose partitions take every id.',
}

async function partitionEmptyTables(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return
  const month = monthOf(Date.now())
  for (const table of monthlyTables) {
    const { rows } = await sql`select 1 from ${sql.table(table.name)} limit 1`.execute(db)
    if (rows.length > 0) continue
    await sql`alter table ${sql.table(table.name)} add constraint ${sql.ref(boundName(table))}
      check (${describeUncovered(table.key, month)})`.execute(db)
    await partitionTable(db, table, month)
  }
}
