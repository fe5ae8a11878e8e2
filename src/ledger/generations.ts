import { CompiledQuery } from 'kysely'
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
  'upstream_id',
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

/**
 * The statements of a settlement, as text made once for each number of rows: building them anew for every
 * reply costs more than running them.
 */
export async function insertGenerations(db: Db, rows: readonly Generation[]): Promise<void> {
  const text = statement(db, rows.length, 'generations', columns, 'on conflict ("id") do nothing')
  await db.executeQuery(
    CompiledQuery.raw(
      text,
      rows.flatMap((row) => columns.map((column) => row[column])),
    ),
  )
}

/** Adds to what each key spent on the day of its replies. */
export async function addKeyUsage(db: Db, rows: readonly Generation[]): Promise<void> {
  const sums = [...sumByKeyAndDay(rows).values()]
  const grow = usageColumns
    .slice(3)
    .map((column) => `"${column}" = "key_usage"."${column}" + excluded."${column}"`)
  const conflict = `on conflict ("key_id", "day") do update set ${grow.join(', ')}`
  const text = statement(db, sums.length, 'key_usage', usageColumns, conflict)
  await db.executeQuery(CompiledQuery.raw(text, sums.flat()))
}

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

const statements = new Map<string, string>()

function statement(db: Db, rows: number, table: string, names: readonly string[], conflict: string): string {
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
