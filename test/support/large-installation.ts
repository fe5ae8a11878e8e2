// An organization as large as the console must stay fast with, written with SQL.
import { sql } from 'kysely'
import { compactSegments } from '../../src/analytics/rollups/compact-segments.ts'
import { rollUp } from '../../src/analytics/rollups/roll-up.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { findDefaultWorkspace } from '../../src/identity/workspaces.ts'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import { closeDb, type Db, isPostgres, openDb } from '../../src/platform/db/db.ts'
import type { Clock } from '../../src/platform/time/clock.ts'
import { createSeedKeys, insertGenerations, type SeedKey } from './generation-rows.ts'

const dayMs = 86_400_000
/** Days of records: more than thirty whole ones. */
const days = 30.9
/** A statement of PostgreSQL has room for them. */
const rowsPerInsert = 500

export interface InstallationSize {
  generations: number
  keys: number
  members: number
  workspaces: number
}

export const largeInstallation: InstallationSize = {
  generations: 5_000_000,
  keys: 100_000,
  members: 10_000,
  workspaces: 200,
}

interface SeedScope {
  db: Db
  organizationId: string
  /** The first of them is the default one. */
  workspaceIds: string[]
  userIds: (string | null)[]
  createdAt: string
}

/** Half of the keys are in the default workspace, and few of them send most requests. */
export async function seedLargeInstallation(
  { config, clock }: Pick<Gateway, 'config' | 'clock'>,
  organizationId: string,
  size: InstallationSize,
): Promise<void> {
  // Some statements take longer than the server allows.
  const db = openDb(config.databaseUrl, { queryTimeoutMs: null })
  await seed({ db, clock }, organizationId, size)
  await closeDb(db)
}

async function seed(
  { db, clock }: { db: Db; clock: Clock },
  organizationId: string,
  size: InstallationSize,
): Promise<void> {
  const now = clock.now()
  const createdAt = new Date(now - days * dayMs).toISOString()
  const first = await findDefaultWorkspace(db, organizationId)
  if (!first) throw new Error('the organization has no default workspace')
  // As everywhere, it is the oldest.
  await db
    .updateTable('workspaces')
    .set({ created_at: '2026-01-01T00:00:00.000Z' })
    .where('id', '=', first.id)
    .execute()
  const workspaceIds = [first.id, ...listIds(size.workspaces - 1, (n) => uuidOf(n))]
  const userIds = listIds(size.members, (n) => `user_seed${n}`)
  const scope: SeedScope = { db, organizationId, workspaceIds, userIds: [...userIds, null], createdAt }
  await insertWorkspaces(scope)
  await insertMembers(scope, userIds)
  await createSeedKeys(db, await insertKeys(scope, size.keys))
  await insertPolicies(scope)
  const perRow = (days * dayMs) / size.generations
  // The square makes small numbers frequent. The numbers of a row depend on each other, least of all `v` and `y`.
  const key = sql<number>`(v * v / 1000 * 100 + y / 1000 % 100) % ${sql.lit(size.keys)}`
  await insertGenerations(db, { from: 0, to: size.generations, start: Date.parse(createdAt), perRow, key })
  await insertRefused(scope)
  // On a busy machine, PostgreSQL took more than ten seconds for a statement with 50,000 parameters.
  await rollUp({ db }, { minRows: 1, maxRows: isPostgres(db) ? 5000 : 50_000 })
  await compactSegments({ db, clock })
  await insertSpending(scope)
}

/** Updates statistics, like PostgreSQL by itself within minutes, and the server once a day on SQLite. */
export async function updateStatistics({ config }: Pick<Gateway, 'config'>): Promise<void> {
  const db = openDb(config.databaseUrl, { queryTimeoutMs: null })
  await (isPostgres(db) ? sql`vacuum analyze` : sql`pragma optimize`).execute(db)
  await closeDb(db)
}

function listIds(count: number, idOf: (n: number) => string): string[] {
  return Array.from({ length: count }, (_, n) => idOf(n))
}

function uuidOf(n: number): string {
  return `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`
}

async function insertAll<Row>(rows: readonly Row[], insert: (some: Row[]) => Promise<unknown>) {
  for (let at = 0; at < rows.length; at += rowsPerInsert) await insert(rows.slice(at, at + rowsPerInsert))
}

async function insertWorkspaces({ db, organizationId, workspaceIds, createdAt }: SeedScope): Promise<void> {
  const rows = workspaceIds.slice(1).map((id, n) => ({
    ...{ id, organization_id: organizationId, slug: `team-${n}`, name: `Team ${n}`, description: null },
    ...{ is_default: 0 as const, default_text_model: null, default_image_model: null },
    ...{ default_provider_sort: null, include_byok_in_budgets: 0 as const, io_logging_enabled: 0 as const },
    ...{
      io_logging_sampling_rate: 1,
      io_logging_api_key_ids: null,
      data_discount_logging_enabled: 0 as const,
    },
    ...{
      broadcast_enabled: 1 as const,
      prompt_caching: 1 as const,
      disabled_server_tools: null,
      video_callback_url: null,
    },
    ...{ sealed_video_secret: null, created_by: null, created_at: createdAt, updated_at: null },
    deleted_at: null,
  }))
  await insertAll(rows, (some) => db.insertInto('workspaces').values(some).execute())
}

/** All of them are in the default workspace, and each in another one. */
async function insertMembers(
  { db, organizationId, workspaceIds, createdAt }: SeedScope,
  userIds: readonly string[],
): Promise<void> {
  const members = userIds.map((id, n) => ({
    ...{ id, organization_id: organizationId, email: `person-${n}@example.com`, first_name: `Person ${n}` },
    ...{ last_name: null, role: 'org:member' as const, created_at: createdAt },
  }))
  await insertAll(members, (some) => db.insertInto('members').values(some).execute())
  const memberships = userIds.flatMap((user_id, n) =>
    [...new Set([workspaceIds[0] ?? '', workspaceIds[n % workspaceIds.length] ?? ''])].map(
      (workspace_id, place) => ({
        ...{ id: uuidOf(2 * n + place), workspace_id, user_id, role: 'member' as const },
        created_at: createdAt,
      }),
    ),
  )
  await insertAll(memberships, (some) => db.insertInto('workspace_members').values(some).execute())
}

async function insertKeys(scope: SeedScope, count: number): Promise<SeedKey[]> {
  const { db, organizationId, workspaceIds, userIds, createdAt } = scope
  const keys: SeedKey[] = []
  const rows = Array.from({ length: count }, (_, n) => ({
    ...{ hash: sha256(`seed-${n}`), organization_id: organizationId, kind: 'inference' as const },
    workspace_id: workspaceIds[n % 2 === 0 ? 0 : (n >> 1) % workspaceIds.length] ?? '',
    ...{ name: `${n % 7 === 0 ? 'Batch' : 'Service'} key ${n}`, label: `sk-hg-v1-${n}...` },
    creator_user_id: userIds[n % userIds.length] ?? null,
    ...{ limit_nanos: n % 3 === 0 ? 5_000_000_000n : null, limit_reset: null },
    ...{ include_byok_in_limit: 0 as const, disabled: n % 50 === 0 ? (1 as const) : (0 as const) },
    ...{ expires_at: null, external_user: null, external_hash: null, source: 'api' as const },
    ...{ created_at: createdAt, updated_at: null },
  }))
  await insertAll(rows, async (some) => {
    const returned = await db
      .insertInto('api_keys')
      .values(some)
      .returning(['id', 'organization_id', 'workspace_id', 'creator_user_id'])
      .execute()
    for (const { creator_user_id, ...key } of returned)
      keys.push({ n: keys.length, ...key, user_id: creator_user_id })
  })
  return keys
}

async function insertPolicies({ db, organizationId, workspaceIds, createdAt }: SeedScope): Promise<void> {
  const times = { created_at: createdAt, updated_at: createdAt }
  const rows = workspaceIds.flatMap((workspace_id, place) =>
    Array.from({ length: 5 }, (_, n) => ({
      ...{ id: uuidOf(5 * place + n), organization_id: organizationId, workspace_id },
      name: `Guardrail ${n} of team ${place}`,
      ...times,
    })),
  )
  await insertAll(rows, (some) => {
    const values = some.map(
      (row) =>
        sql`(${row.id}, ${organizationId}, ${row.workspace_id}, ${row.name}, 0, ${createdAt}, ${createdAt})`,
    )
    return sql`insert into guardrails (id, organization_id, workspace_id, name, include_byok_in_budgets, created_at, updated_at)
      values ${sql.join(values)}`.execute(db)
  })
  const presets = Array.from({ length: 500 }, (_, n) => ({
    ...{ id: uuidOf(n), organization_id: organizationId, workspace_id: null, slug: `preset-${n}` },
    ...{ name: `Preset ${n}`, description: null, status: 'active' as const, status_updated_at: null },
    ...{ designated_version_id: null, creator_user_id: null, ...times },
  }))
  await insertAll(presets, (some) => db.insertInto('presets').values(some).execute())
}

/** One for each thousand generations. */
async function insertRefused({ db }: SeedScope): Promise<void> {
  await sql`insert into refused_requests (id, organization_id, workspace_id, key_id, user_id, created_at, error_code,
      http_status, message, details, requested_model, dialect, api_type, streamed, latency_ms, requests)
    select 'refused-' || id, organization_id, workspace_id, key_id, user_id, created_at, 'insufficient_credits',
      402, 'The balance does not cover the request.', '{}', requested_model, dialect, api_type, streamed, 3, 1
    from generations where id like '%000'`.execute(db)
}

/** Inserts what the ledger would have of these generations. */
async function insertSpending({ db, organizationId }: SeedScope): Promise<void> {
  const subjects = [
    sql`'organization:' || organization_id`,
    sql`'workspace:' || workspace_id`,
    sql`'key:' || key_id`,
    sql`'member:' || workspace_id || ':' || user_id`,
  ]
  for (const subject of subjects) {
    await sql`insert into meter_days (subject, day, spent_nanos)
      select ${subject}, day, sum(usage_nanos) from key_days
      where organization_id = ${organizationId} group by ${subject}, day`.execute(db)
    await sql`insert into meters (subject, total_nanos)
      select ${subject}, sum(usage_nanos) from key_days
      where organization_id = ${organizationId} group by ${subject}`.execute(db)
  }
  for (const [account, sign] of Object.entries({ credits: -1, revenue: 1 })) {
    await sql`insert into ledger_entries (transaction_id, organization_id, account, amount_nanos, kind, created_at)
      select 'post-' || id, organization_id, ${account}, ${sql.lit(sign)} * cost_nanos, 'charge', created_at
      from generations where organization_id = ${organizationId} and (id like '%0' or id like '%8')`.execute(
      db,
    )
  }
}
