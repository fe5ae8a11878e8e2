import type { Statement } from '../db/batch.ts'
import { type Db, isPostgres } from '../db/db.ts'
import type { GenerationTable } from '../db/schema.ts'

export type Generation = GenerationTable

const columns = [
  'id',
  'organization_id',
  'workspace_id',
  'key_id',
  'user_id',
  'created_at',
  'requested_model',
  'model',
  'provider',
  'endpoint',
  'dialect',
  'upstream_dialect',
  'streamed',
  'status',
  'error_code',
  'finish_reason',
  'native_finish_reason',
  'tokens_input',
  'tokens_cache_read',
  'tokens_cache_write',
  'tokens_cache_write_1h',
  'tokens_input_audio',
  'tokens_input_image',
  'tokens_input_video',
  'tokens_output',
  'tokens_reasoning',
  'tokens_output_audio',
  'tokens_output_image',
  'web_searches',
  'usage_source',
  'cost_nanos',
  'upstream_cost_nanos',
  'reported_cost_nanos',
  'is_byok',
  'latency_ms',
  'first_token_ms',
  'attempts',
  'dropped',
  'preset_id',
  'session_id',
  'region',
  'app_url',
  'app_title',
  'external_user',
] as const satisfies readonly (keyof Generation)[]

const usageColumns = ['key_id', 'organization_id', 'day', 'usage_nanos', 'byok_usage_nanos'] as const

/** All at once where each statement is a journey; one by one where preparing a long one costs more. */
export function generationStatements(db: Db, rows: readonly Generation[]): Statement[] {
  const groups = isPostgres(db) ? [rows] : rows.map((row) => [row])
  return groups.map((group) => ({
    sql: textFor(db, group.length, 'generations', columns, 'on conflict ("id") do nothing'),
    values: valuesOf(group),
  }))
}

/** A plain loop: this runs for every column of every reply. */
function valuesOf(rows: readonly Generation[]): unknown[] {
  const values: unknown[] = []
  for (const row of rows) for (const column of columns) values.push(row[column])
  return values
}

/** Adds to what each key spent on the day of its replies. */
export function usageStatement(db: Db, rows: readonly Generation[]): Statement {
  const sums = [...sumByKeyAndDay(rows).values()]
  return { sql: textFor(db, sums.length, 'key_usage', usageColumns, growth), values: sums.flat() }
}

const sumsGrow = ['usage_nanos', 'byok_usage_nanos'].map(
  (column) => `"${column}" = "key_usage"."${column}" + excluded."${column}"`,
)
const growth = `on conflict ("key_id", "day") do update set ${sumsGrow.join(', ')}`

type KeyDay = [key: number, organization: string, day: string, usage: bigint, byok: bigint]

/** In a fixed order, so that two nodes never wait for each other's rows crosswise. */
function sumByKeyAndDay(rows: readonly Generation[]): Map<string, KeyDay> {
  const sums = new Map<string, KeyDay>()
  for (const row of rows.toSorted((a, b) => a.key_id - b.key_id)) {
    const day = row.created_at.slice(0, 10)
    const slot = `${row.key_id} ${day}`
    const sum = sums.get(slot) ?? [row.key_id, row.organization_id, day, 0n, 0n]
    sum[3] += row.cost_nanos
    if (row.is_byok) sum[4] += row.upstream_cost_nanos
    sums.set(slot, sum)
  }
  return sums
}

/** Text made once for each number of rows: building it anew for every reply costs more than running it. */
const statements = new Map<string, string>()

function textFor(db: Db, rows: number, table: string, names: readonly string[], conflict: string): string {
  const postgres = isPostgres(db)
  const slot = `${postgres} ${table} ${rows}`
  const known = statements.get(slot)
  if (known !== undefined) return known
  let parameter = 0
  const next = () => (postgres ? `$${++parameter}` : '?')
  const values = Array.from({ length: rows }, () => `(${names.map(next).join(', ')})`)
  const list = names.map((name) => `"${name}"`).join(', ')
  const text = `insert into "${table}" (${list}) values ${values.join(', ')} ${conflict}`
  statements.set(slot, text)
  return text
}
