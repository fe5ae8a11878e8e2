import { type RawBuilder, sql } from 'kysely'

/**
 * Whether the columns, with spaces between them, contain the text anywhere. Case is ignored; on SQLite that of ASCII
 * letters only.
 */
export function containsText(columns: readonly string[], text: string): RawBuilder<boolean> {
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  const texts = columns.map((column) => sql<string>`coalesce(${sql.ref(column)}, '')`)
  return sql<boolean>`lower(${sql.join(texts, sql` || ' ' || `)}) like lower(${pattern}) escape '\\'`
}
