import { sql } from 'kysely'
import { type Db, isPostgres } from '../../src/platform/db/db.ts'

export interface SentQuery {
  sql: string
  parameters: readonly unknown[]
}

/** The queries that the work sends through the database it is given. */
export async function recordQueries(db: Db, work: (db: Db) => Promise<unknown>): Promise<SentQuery[]> {
  const queries: SentQuery[] = []
  const spy = db.withPlugin({
    transformQuery: ({ node }) => {
      queries.push(db.getExecutor().compileQuery(node, { queryId: 'plan' }))
      return node
    },
    transformResult: async ({ result }) => result,
  })
  await work(spy)
  return queries
}

/** The plan of a query. The tables of a test are small enough to be read as a whole; those of an installation are not. */
export function explainQuery(db: Db, query: SentQuery): Promise<string> {
  return runExplain(db, isPostgres(db) ? 'explain' : 'explain query plan', query)
}

export function runExplain(db: Db, prefix: string, query: SentQuery): Promise<string> {
  return db.transaction().execute(async (tx) => {
    for (const setting of isPostgres(db) ? ['enable_seqscan', 'enable_bitmapscan', 'enable_sort'] : [])
      await sql`set local ${sql.raw(setting)} = off`.execute(tx)
    const { rows } = await sql.raw(`${prefix} ${inline(query)}`).execute(tx)
    return rows.map((row) => JSON.stringify(row)).join('\n')
  })
}

function inline({ sql: text, parameters }: SentQuery): string {
  const literal = (value: unknown) =>
    typeof value === 'number' || typeof value === 'bigint' || value === null
      ? `${value}`
      : `'${String(value).replaceAll("'", "''")}'`
  const parts = text.split(/\?|\$\d+/)
  return parts.map((part, n) => part + (n < parameters.length ? literal(parameters[n]) : '')).join('')
}
