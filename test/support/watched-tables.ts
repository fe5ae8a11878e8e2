import { sql } from 'kysely'
import { type Db, isPostgres } from '../../src/platform/db/db.ts'

const named = '%_revision_%'

/** The tables with triggers for the revision of account data: their changes increase it. */
export async function listWatchedTables(db: Db): Promise<string[]> {
  const query = isPostgres(db)
    ? sql<{ name: string }>`select distinct relname as name from pg_trigger
        join pg_class on pg_class.oid = tgrelid where not tgisinternal and tgname like ${named}`
    : sql<{ name: string }>`select distinct tbl_name as name from sqlite_schema
        where type = 'trigger' and name like ${named}`
  const { rows } = await query.execute(db)
  return rows.map(({ name }) => name).sort()
}
