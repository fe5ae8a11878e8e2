import { type SelectQueryBuilder, sql } from 'kysely'
import type { Pagination } from '../validation/query-params.ts'
import type { Schema } from './schema.ts'

export interface RowPage<Row> {
  rows: Row[]
  /** The number of rows on all pages. */
  total: number
}

/** One page of a query, oldest first by default. */
export async function fetchPage<Tables extends keyof Schema, Row>(
  all: SelectQueryBuilder<Schema, Tables, Row>,
  page: Pagination,
  order = ['created_at', 'id'],
  direction: 'asc' | 'desc' = 'asc',
): Promise<RowPage<Row>> {
  const sorted = order.reduce((query, column) => query.orderBy(sql.ref(column), direction), all)
  const rows = await sorted.limit(page.limit).offset(page.offset).execute()
  const { total } = await all
    .clearSelect()
    .select(sql<number>`count(*)`.as('total'))
    .executeTakeFirstOrThrow()
  return { rows, total }
}
