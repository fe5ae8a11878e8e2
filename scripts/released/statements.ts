import { SQL } from 'bun'

/** The distinct statements that PostgreSQL has run, with parameters for constants, as `pg_stat_statements` has them. */
export async function readStatements(url: string): Promise<string[]> {
  const db = new SQL(url, { max: 1 })
  try {
    const rows = await db.unsafe('select distinct query from pg_stat_statements')
    const byForm = new Map<string, string>()
    for (const { query } of rows as { query: string }[]) {
      const text = query.replace(/\s+/g, ' ').trim()
      if (!/^(?:select|insert|update|delete|with)\b/i.test(text) || text.includes('kysely_')) continue
      const form = toForm(text)
      const known = byForm.get(form)
      if (known === undefined || text.length < known.length) byForm.set(form, text)
    }
    return [...byForm.values()].sort()
  } finally {
    await db.close({ timeout: 1 })
  }
}

/** The same for lists of any length. */
function toForm(text: string): string {
  return text
    .replace(/\$\d+/g, '$')
    .replace(/\(\$(?:, ?\$)+\)/g, '($)')
    .replace(/(\([^()]*\))(?:, ?\1)+/g, '$1')
}

/** Plans each statement without running it; returns the errors of those that do not fit the schema. */
export async function planStatements(
  url: string,
  statements: readonly string[],
): Promise<{ statement: string; error: string }[]> {
  const db = new SQL(url, { max: 1 })
  const failures: { statement: string; error: string }[] = []
  try {
    for (const statement of statements) {
      const count = Math.max(0, ...[...statement.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
      const values = count === 0 ? '' : `(${Array(count).fill('null').join(', ')})`
      const script = `deallocate all; prepare planned as ${statement}; explain execute planned${values}`
      await db.unsafe(script).catch((error: Error) => failures.push({ statement, error: error.message }))
    }
    return failures
  } finally {
    await db.close({ timeout: 1 })
  }
}
