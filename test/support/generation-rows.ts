// Generations as SQL makes them: millions in a minute.
import { type RawBuilder, sql } from 'kysely'
import { type Db, isPostgres } from '../../src/platform/db/db.ts'

const rowsPerStatement = 100_000

export interface SeedKey {
  n: number
  id: number
  organization_id: string
  workspace_id: string
  user_id: string | null
}

/** The keys that `insertGenerations` chooses from by their number `n`. */
export async function createSeedKeys(db: Db, keys: readonly SeedKey[]): Promise<void> {
  await sql`create table seed_keys (n bigint primary key, id bigint, organization_id text, workspace_id text, user_id text)`.execute(
    db,
  )
  for (let at = 0; at < keys.length; at += 1000) {
    const values = keys
      .slice(at, at + 1000)
      .map((key) => sql`(${key.n}, ${key.id}, ${key.organization_id}, ${key.workspace_id}, ${key.user_id})`)
    await sql`insert into seed_keys (n, id, organization_id, workspace_id, user_id) values ${sql.join(values)}`.execute(
      db,
    )
  }
}

interface SeedRange {
  /** Rows are numbered from `from` to `to`, exclusive. */
  from: number
  to: number
  /** The arrival of row `i` in milliseconds: `start + i * perRow`. */
  start: number
  perRow: number
  /** The number of its key, from the pseudo-random numbers `u`, `v`, `w`, each below 1000. */
  key: RawBuilder<number>
}

/**
 * Each key uses few models and one app; some requests fail, are canceled or use BYOK keys, some belong to sessions of
 * about eight requests, and every 500,000th is of one end user. None is rolled up yet.
 */
export async function insertGenerations(db: Db, range: SeedRange): Promise<void> {
  for (let from = range.from; from < range.to; from += rowsPerStatement)
    await insertRows(db, { ...range, from, to: Math.min(range.to, from + rowsPerStatement) })
}

/** A pseudo-random number below `below` for row `i`. */
function pseudoRandom(salt: number, below: number): RawBuilder<number> {
  return sql.raw(`((((i + ${salt}) * 48271 % 2147483647) * 69621 % 2147483647) / 7 % ${below})`)
}

async function insertRows(db: Db, { from, to, start, perRow, key }: SeedRange): Promise<void> {
  const postgres = isPostgres(db)
  const iso = (ms: string) =>
    sql.raw(
      postgres
        ? `to_char(to_timestamp((${ms}) / 1000.0) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
        : `strftime('%Y-%m-%dT%H:%M:%fZ', (${ms}) / 1000.0, 'unixepoch')`,
    )
  const series = postgres
    ? sql`select i from generate_series(${sql.lit(from)}::bigint, ${sql.lit(to - 1)}::bigint) as s(i)`
    : sql`with recursive s(i) as (values (${sql.lit(from)}) union all select i + 1 from s where i < ${sql.lit(to - 1)}) select i from s`
  const hex = (value: string, digits: number) =>
    sql.raw(postgres ? `lpad(to_hex(${value}), ${digits}, '0')` : `printf('%0${digits}x', ${value})`)
  // Like a UUID of version 7: the time first.
  const id = sql`'gen-' || ${hex('began', 12)} || '7' || ${hex('i', 19)}`
  const began = `cast(${Math.floor(start)} + i * ${perRow} as bigint)`
  const rolled = sql`select i, ${pseudoRandom(1, 1000)} as u, ${pseudoRandom(2, 1000)} as v, ${pseudoRandom(3, 1000)} as w, ${pseudoRandom(4, 1000)} as x,
    ${pseudoRandom(5, 100_000)} as y, ${pseudoRandom(6, 1000)} as z, ${sql.raw(began)} as began from (${series}) as rows`
  const placed = sql`select *, ${key} as n from (${rolled}) as rolled`
  const named = sql`select placed.*, (n * 7 + x * x / 1000 * 4 / 1000) % 40 as m from (${placed}) as placed`
  await sql`
    insert into generations (id, organization_id, workspace_id, key_id, user_id, created_at, ended_at,
      requested_model, model, provider, endpoint, dialect, upstream_dialect, streamed, status, error_code, finish_reason,
      tokens_input, tokens_cache_read, tokens_cache_write, tokens_cache_write_1h, tokens_input_audio,
      tokens_input_image, tokens_input_video, tokens_output, tokens_reasoning, tokens_output_audio,
      tokens_output_image, web_searches, usage_source, cost_nanos, upstream_cost_nanos, is_byok, latency_ms,
      first_token_ms, attempts, region, app_url, app_title, external_user, api_type, hold_nanos,
      input_images, tokens_cache_read_audio, session_id, tags, request_id, upstream_id)
    select ${id}, k.organization_id, k.workspace_id, k.id, k.user_id,
      ${iso('began')}, ${iso('began + 300 + y / 10')},
      'maker/model-' || m, 'maker/model-' || m, 'provider-' || (m % 12), 'provider-' || (m % 12) || case when x % 3 = 0 then '/b' else '' end,
      'chat', 'chat', 1, case when z < 10 then 'failed' when z < 30 then 'cancelled' else 'completed' end,
      case when z < 10 then 'provider_error' end, case when z < 10 then null when z < 100 then 'length' when z < 250 then 'tool_calls' else 'stop' end,
      y * (z + 1) / 10000, case when x % 2 = 0 then y / 3 else 0 end, 0, 0, 0, 0, 0, x + y / 200,
      case when m % 4 = 0 then z else 0 end, 0, 0, 0, 'reported',
      case when m % 20 = 0 then 50 * y else 1000 * y + 77 * x end, 1000 * y + 77 * x,
      case when m % 20 = 0 then 1 else 0 end, 300 + y / 10, 100 + y / 50, '[]', 'global',
      case when k.n % 10 < 7 then 'https://app-' || (k.n % 200) || '.example.com/' end,
      case when k.n % 10 < 7 then 'App ' || (k.n % 200) end,
      case when i % 500000 = 7 then 'rare-person' when z % 5 > 0 then 'user-' || ((k.n * 5 + x % 25) % 5000) end,
      'completions', 1000 * y + 77 * x, 0, 0,
      case when w < 400 then 'session-' || (i / 200 * 10 + x % 10) end,
      case when z % 10 < 3 then 'environment=' || case when x % 4 = 0 then 'staging' else 'production' end || '\nteam=team-' || (k.n % 20) end,
      case when x % 20 = 0 then 'trace-' || ${hex('i', 16)} else 'req_' || ${hex('began', 12)} || '7' || ${hex('i', 11)} end,
      case when z >= 10 then 'chatcmpl-' || ${hex('(i * 48271) % 2147483647', 8)} || ${hex('i', 12)} end
    from (${named}) as named join seed_keys k on k.n = named.n`.execute(db)
  await sql`insert into unrolled_generations (generation_id, organization_id)
    select ${id}, k.organization_id from (${named}) as named join seed_keys k on k.n = named.n`.execute(db)
}
