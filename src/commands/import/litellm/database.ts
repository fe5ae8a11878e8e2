import { SQL, type TransactionSQL } from 'bun'
import { rootCauseMessage } from '../../../platform/root-cause.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import { UsageError } from '../../command.ts'
import { type LiteLlmDatabase, tables } from './database-rows.ts'

/** Of one table. */
const maxRows = 20_000
const connectSeconds = 10

/** Reads LiteLLM's database in one read-only snapshot. */
export async function readDatabase(url: string): Promise<LiteLlmDatabase> {
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new UsageError('--database must be an address such as postgres://user@host/litellm.')
  const database = new SQL(url, { max: 1, connectionTimeout: connectSeconds })
  try {
    return await database.begin('isolation level repeatable read read only', readTables)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`The database cannot be read: ${rootCauseMessage(error)}`)
  } finally {
    await database.close({ timeout: 1 })
  }
}

async function readTables(tx: TransactionSQL): Promise<LiteLlmDatabase> {
  const entries: [string, unknown[]][] = []
  for (const [key, table] of Object.entries(tables)) entries.push([key, await readTable(tx, table)])
  return Object.fromEntries(entries) as unknown as LiteLlmDatabase
}

type Table = (typeof tables)[keyof typeof tables]

/** As JSON, which has the columns of this version of LiteLLM. An older one may lack the table. */
async function readTable(tx: TransactionSQL, { name, order, row }: Table): Promise<unknown[]> {
  const [present] = await tx.unsafe(`select to_regclass('"${name}"') is not null as known`)
  if (!present.known) return []
  const rows: { row: unknown }[] = await tx.unsafe(
    `select to_jsonb(t)::text as row from "${name}" t order by ${order} limit ${maxRows + 1}`,
  )
  if (rows.length > maxRows) throw new UsageError(`${name} has more than ${maxRows} rows.`)
  return rows.map((entry) => {
    const result = row.safeParse(JSON.parse(String(entry.row)))
    if (result.success) return result.data
    const [issue] = flattenIssues(result.error)
    throw new UsageError(`${name} has a row that cannot be read: ${issue?.path.join('.')} ${issue?.message}.`)
  })
}
