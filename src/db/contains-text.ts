import { type RawBuilder, sql } from 'kysely'

/** Whether one of the columns contains the text anywhere. Case is ignored; on SQLite that of ASCII letters only. */
export function containsText(columns: readonly string[], text: string): RawBuilder<boolean> {
  const pattern = `%${escapePattern(text)}%`
  const tests = columns.map(
    (column) => sql<boolean>`lower(${sql.ref(column)}) like lower(${pattern}) escape '\\'`,
  )
  return sql<boolean>`(${sql.join(tests, sql` or `)})`
}

function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
