import { type RawBuilder, sql } from 'kysely'
import { type Db, isPostgres } from '../../platform/db/db.ts'
import type { IndexedId } from './selection.ts'

/** What the index of an id leaves out, in the words of its condition: without them it does not apply. */
const indexConditions = {
  session_id: null,
  upstream_id: null,
  request_id: sql`(substr(request_id, 1, 4) <> 'req_' or length(request_id) <> 28)`,
}

/** The rows with an id, found through the index of it. */
export function hasIndexedId(db: Db, { column, value }: IndexedId): RawBuilder<boolean> {
  const id = sql.ref(column)
  const parts = [sql`${id} = ${value}`]
  if (isPostgres(db)) parts.push(sql`hashtextextended(${id}, 0) = hashtextextended(${value}, 0)`)
  const condition = indexConditions[column]
  if (condition) parts.push(condition)
  return sql<boolean>`${sql.join(parts, sql` and `)}`
}
