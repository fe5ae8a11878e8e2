import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'

/** Rows that a table is watched for; without a condition, all of them. */
export interface WatchedTable {
  table: string
  /** A condition on a row, which is `old` or `new`. */
  where?: (row: 'old' | 'new') => string
}

const events = ['insert', 'update', 'delete'] as const
type Event = (typeof events)[number]

/**
 * Every change of the rows increases the revision. An update that changes nothing does not: it locks the row. On SQLite
 * it is recognized by the columns that the table has now, so a migration that adds one calls this again.
 */
export async function watchTable(db: Kysely<unknown>, watched: WatchedTable): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  for (const event of events) {
    if (isPostgres) await watchOnPostgres(db, watched, event)
    else await watchOnSqlite(db, watched, event)
  }
  if (isPostgres) await watchTruncate(db, watched.table)
}

function nameOf(table: string, event: string): string {
  return `${table}_revision_${event}`
}

async function watchOnSqlite(db: Kysely<unknown>, watched: WatchedTable, event: Event): Promise<void> {
  const { table } = watched
  const name = sql.ref(nameOf(table, event))
  const isChanged = sql.raw(event === 'update' ? await compareColumns(db, table) : 'true')
  await sql`drop trigger if exists ${name}`.execute(db)
  await sql`create trigger ${name} after ${sql.raw(event)} on ${sql.table(table)}
    when ${isChanged} and ${buildCondition(watched, event)}
    begin update account_revision set revision = revision + 1; end`.execute(db)
}

async function compareColumns(db: Kysely<unknown>, table: string): Promise<string> {
  const { rows } = await sql<{ name: string }>`select name from pragma_table_info(${table})`.execute(db)
  const list = (row: string) => `(${rows.map(({ name }) => `${row}."${name}"`).join(', ')})`
  return `${list('old')} is not ${list('new')}`
}

/** Deferred: the row of the revision is locked only while a transaction commits, and always last. */
async function watchOnPostgres(db: Kysely<unknown>, watched: WatchedTable, event: Event): Promise<void> {
  const table = sql.table(watched.table)
  const name = sql.ref(nameOf(watched.table, event))
  const isChanged = sql.raw(event === 'update' ? 'old is distinct from new' : 'true')
  await sql`drop trigger if exists ${name} on ${table}`.execute(db)
  await sql`create constraint trigger ${name} after ${sql.raw(event)} on ${table}
    deferrable initially deferred for each row when (${isChanged} and ${buildCondition(watched, event)})
    execute function increase_account_revision()`.execute(db)
}

async function watchTruncate(db: Kysely<unknown>, table: string): Promise<void> {
  const name = sql.ref(nameOf(table, 'truncate'))
  await sql`drop trigger if exists ${name} on ${sql.table(table)}`.execute(db)
  await sql`create trigger ${name} after truncate on ${sql.table(table)}
    for each statement execute function increase_account_revision()`.execute(db)
}

function buildCondition({ where }: WatchedTable, event: Event): RawBuilder<unknown> {
  if (!where) return sql.raw('true')
  const rows = { insert: ['new'], update: ['old', 'new'], delete: ['old'] } as const
  return sql.raw(`(${rows[event].map(where).join(' or ')})`)
}
