import {
  type ColumnDefinitionBuilder,
  type CreateTableBuilder,
  type Kysely,
  PostgresAdapter,
  sql,
} from 'kysely'

export const required = (column: ColumnDefinitionBuilder) => column.notNull()
export const flag = (column: ColumnDefinitionBuilder) => column.notNull().defaultTo(0)
export const key = (column: ColumnDefinitionBuilder) => column.primaryKey()
export const organization = (column: ColumnDefinitionBuilder) =>
  column.notNull().references('organizations.id')
export const workspace = (column: ColumnDefinitionBuilder) => column.notNull().references('workspaces.id')

export async function index(db: Kysely<unknown>, name: string, table: string, columns: string[]) {
  await db.schema.createIndex(name).on(table).columns(columns).execute()
}

/**
 * Clustered by its key, where the database can: every request writes here, and each index would be written
 * too.
 */
export async function clustered<T extends string>(db: Kysely<unknown>, table: CreateTableBuilder<T, string>) {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  await (isPostgres ? table : table.modifyEnd(sql`without rowid`)).execute()
}
