import { type RawBuilder, sql } from 'kysely'

/**
 * Matches rows whose columns, joined with spaces, contain the text. Case is ignored; on SQLite for ASCII letters only.
 */
export function containsText(columns: readonly string[], text: string): RawBuilder<boolean> {
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  const texts = columns.map((column) => sql<string>`coalesce(${sql.ref(column)}, '')`)
  return sql<boolean>`lower(${sql.join(texts, sql` || ' ' || `)}) like lower(${pattern}) escape '\\'`
}
