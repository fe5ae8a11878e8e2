// Millions of generations, distributed as in production: one organization has half, and each key uses few models and apps.
import { type RawBuilder, sql } from 'kysely'
import { createKey } from '../src/account/keys.ts'
import { createMember } from '../src/account/members.ts'
import { createWorkspace } from '../src/account/workspaces.ts'
import { type Db, isPostgres } from '../src/db/db.ts'
import { createTenant, type Tenant, type TestServer } from '../test/support/harness.ts'

const organizations = 50
const keysOfLargest = 1000
const keysOfOthers = 1000
const rowsPerStatement = 100_000
const dayMs = 86_400_000
/** More than thirty whole days. */
const days = 30.9

interface SeedKey {
  n: number
  id: number
  organization_id: string
  workspace_id: string
  user_id: string
}

interface SeedResult {
  small: Tenant
  /** The key hashes of the largest organization. */
  hashes: string[]
  /** Adds generations up to the current time. */
  addLatest: (count: number) => Promise<void>
}

export async function seedRecords(server: TestServer, rows: number): Promise<SeedResult> {
  const { keys, hashes, small } = await seedKeys(server)
  const { db } = server.gateway
  await sql`create table bench_keys (n bigint primary key, id bigint, organization_id text, workspace_id text, user_id text)`.execute(
    db,
  )
  for (let at = 0; at < keys.length; at += 100) {
    const values = keys
      .slice(at, at + 100)
      .map((key) => sql`(${key.n}, ${key.id}, ${key.organization_id}, ${key.workspace_id}, ${key.user_id})`)
    await sql`insert into bench_keys (n, id, organization_id, workspace_id, user_id) values ${sql.join(values)}`.execute(
      db,
    )
  }
  const end = Date.now() - 60_000
  const time = { start: end - days * dayMs, perRow: (days * dayMs) / rows }
  for (let from = 0; from < rows; from += rowsPerStatement) {
    await insertRows(db, from, Math.min(rows, from + rowsPerStatement) - 1, time)
  }
  const addLatest = (count: number) =>
    insertRows(db, rows, rows + count - 1, { start: Date.now() - rows, perRow: 1 })
  return { small, hashes, addLatest }
}

async function seedKeys(server: TestServer) {
  const { gateway } = server
  const others: Tenant[] = []
  for (let i = 1; i < organizations; i++) others.push(await createTenant(gateway, `Organization ${i}`))
  const keys: SeedKey[] = []
  const hashes: string[] = []
  const add = async (tenant: Tenant, count: number) => {
    const { workspaces, users } = await createWorkspacesAndUsers(server, tenant, count)
    for (let i = 0; i < count; i++) {
      const workspace_id = workspaces[i % workspaces.length] ?? ''
      const user_id = users[i % users.length] ?? ''
      const organization_id = tenant.organization.id
      const { key } = await createKey(gateway.db, gateway.clock, {
        organizationId: organization_id,
        workspaceId: workspace_id,
        kind: 'inference',
        name: `key ${i}`,
        creatorUserId: user_id,
      })
      if (tenant === server.own) hashes.push(key.hash)
      keys.push({ n: keys.length, id: key.id, organization_id, workspace_id, user_id })
    }
  }
  await add(server.own, keysOfLargest)
  for (const [index, tenant] of others.entries()) {
    await add(tenant, Math.ceil(keysOfOthers / others.length) + (index % 2))
  }
  const [small] = others
  if (!small) throw new Error('there are no other organizations')
  return { keys, hashes, small }
}

async function createWorkspacesAndUsers({ gateway }: TestServer, tenant: Tenant, count: number) {
  const organizationId = tenant.organization.id
  const [workspaces, users] = [[tenant.workspace.id], [tenant.owner.id]]
  for (let i = 1; i < Math.min(5, count / 5); i++) {
    const owner = { organizationId, createdBy: tenant.owner.id }
    const workspace = await createWorkspace(gateway.db, gateway.clock, owner, {
      name: `W ${i}`,
      slug: `w-${i}`,
    })
    workspaces.push(workspace.id)
  }
  for (let i = 1; i < count / 5; i++) {
    const email = `u${i}-${organizationId}@example.com`
    users.push(
      (await createMember(gateway.db, gateway.clock, { organizationId, email, role: 'org:member' })).id,
    )
  }
  return { workspaces, users }
}

/** A pseudo-random number below `below` for row `i`. */
function pseudoRandom(salt: number, below: number): RawBuilder<number> {
  return sql.raw(`((((i + ${salt}) * 48271 % 2147483647) * 69621 % 2147483647) / 7 % ${below})`)
}

async function insertRows(
  db: Db,
  from: number,
  to: number,
  { start, perRow }: { start: number; perRow: number },
): Promise<void> {
  const postgres = isPostgres(db)
  const iso = (ms: string) =>
    sql.raw(
      postgres
        ? `to_char(to_timestamp((${ms}) / 1000.0) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
        : `strftime('%Y-%m-%dT%H:%M:%fZ', (${ms}) / 1000.0, 'unixepoch')`,
    )
  const series = postgres
    ? sql`select i from generate_series(${sql.lit(from)}::bigint, ${sql.lit(to)}::bigint) as s(i)`
    : sql`with recursive s(i) as (values (${sql.lit(from)}) union all select i + 1 from s where i < ${sql.lit(to)}) select i from s`
  const hex = postgres ? sql.raw(`lpad(to_hex(i), 32, '0')`) : sql.raw(`printf('%032x', i)`)
  const began = `cast(${Math.floor(start)} + i * ${perRow} as bigint)`
  const rolled = sql`select i, ${pseudoRandom(1, 1000)} as u, ${pseudoRandom(2, 1000)} as v, ${pseudoRandom(3, 1000)} as w, ${pseudoRandom(4, 1000)} as x,
    ${pseudoRandom(5, 100_000)} as y, ${pseudoRandom(6, 1000)} as z, ${sql.raw(began)} as began from (${series}) as rows`
  // Half of them in the first organization; in each, few keys send most requests.
  const placed = sql`select *, case when u < 500 then v * v / 1000 * w / 1000
    else ${sql.lit(keysOfLargest)} + v * v / 1000 * (1000 + w) / 2000 end as n from (${rolled}) as rolled`
  const named = sql`select placed.*, (n * 7 + x * x / 1000 * 4 / 1000) % 40 as m from (${placed}) as placed`
  await sql`
    insert into generations (id, organization_id, workspace_id, key_id, user_id, created_at, ended_at,
      requested_model, model, provider, endpoint, dialect, upstream_dialect, streamed, status, finish_reason,
      tokens_input, tokens_cache_read, tokens_cache_write, tokens_cache_write_1h, tokens_input_audio,
      tokens_input_image, tokens_input_video, tokens_output, tokens_reasoning, tokens_output_audio,
      tokens_output_image, web_searches, usage_source, cost_nanos, upstream_cost_nanos, is_byok, latency_ms,
      first_token_ms, attempts, region, app_url, app_title, external_user, api_type, hold_nanos,
      input_images, tokens_cache_read_audio)
    select 'gen-' || ${hex}, k.organization_id, k.workspace_id, k.id, k.user_id,
      ${iso('began')}, ${iso('began + 300 + y / 10')},
      'maker/model-' || m, 'maker/model-' || m, 'provider-' || (m % 12), 'provider-' || (m % 12) || case when x % 3 = 0 then '/b' else '' end,
      'chat', 'chat', 1, case when z < 10 then 'failed' when z < 30 then 'cancelled' else 'completed' end,
      case when z < 10 then null when z < 100 then 'length' when z < 250 then 'tool_calls' else 'stop' end,
      y * (z + 1) / 10000, case when x % 2 = 0 then y / 3 else 0 end, 0, 0, 0, 0, 0, x + y / 200,
      case when m % 4 = 0 then z else 0 end, 0, 0, 0, 'reported',
      case when m % 20 = 0 then 50 * y else 1000 * y + 77 * x end, 1000 * y + 77 * x,
      case when m % 20 = 0 then 1 else 0 end, 300 + y / 10, 100 + y / 50, '[]', 'global',
      case when k.n % 10 < 7 then 'https://app-' || (k.n % 200) || '.example.com/' end,
      case when k.n % 10 < 7 then 'App ' || (k.n % 200) end,
      case when z % 5 > 0 then 'user-' || ((k.n * 5 + x % 25) % 5000) end, 'completions', 1000 * y + 77 * x, 0, 0
    from (${named}) as named join bench_keys k on k.n = named.n`.execute(db)
  await sql`insert into unrolled_generations (generation_id, organization_id)
    select 'gen-' || ${hex}, k.organization_id from (${named}) as named join bench_keys k on k.n = named.n`.execute(
    db,
  )
}
