import { type Kysely, PostgresAdapter, sql } from 'kysely'

export function usesPostgres(db: Kysely<unknown>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

/** Looks up a single table: Kysely's introspection reads the columns of all tables, which would dominate startup. */
export async function hasTable(db: Kysely<unknown>, name: string): Promise<boolean> {
  const { rows } = usesPostgres(db)
    ? await sql`select 1 where to_regclass(${name}) is not null`.execute(db)
    : await sql`select 1 from sqlite_master where type = 'table' and name = ${name}`.execute(db)
  return rows.length > 0
}
