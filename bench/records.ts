// The cost of analytics with millions of generations: each call over HTTP, on both databases.
import { sql } from 'kysely'
import { compactSegments } from '../src/analytics/rollups/compact-segments.ts'
import { rollUp } from '../src/analytics/rollups/roll-up.ts'
import { isPostgres } from '../src/platform/db/db.ts'
import { databaseKinds, startTestServer, type Tenant, type TestServer } from '../test/support/harness.ts'
import { seedRecords } from './records-seed.ts'

const repeats = 30
const targetMs = 100
/** Generations that are not rolled up yet, as on a day with little traffic. */
const unrolledCount = 2000

interface Timing {
  /** The fastest call: the least affected by other load on the machine. */
  best: number
  p50: number
  p95: number
}

interface Report {
  rows: number
  seedSeconds: number
  rollSeconds: number
  rollUpBytes: number
  calls: Record<string, Timing>
}

export async function measureRecords(isQuick: boolean): Promise<void> {
  const rows = isQuick ? 200_000 : 5_000_000
  const reports: Record<string, Report> = {}
  for (const kind of databaseKinds) {
    const server = await startTestServer(kind)
    try {
      reports[kind] = await measureOn(server, rows)
      printReport(kind, reports[kind])
    } finally {
      await server.stop()
    }
  }
  if (!isQuick) await Bun.write('bench/results/records.json', `${JSON.stringify(reports, null, 2)}\n`)
}

async function measureOn(server: TestServer, rows: number): Promise<Report> {
  const { gateway } = server
  const seeding = performance.now()
  const { small, hashes, addLatest } = await seedRecords(server, rows)
  const rolling = performance.now()
  await rollUp(gateway, { minRows: 1 })
  await compactSegments(gateway)
  const rolled = performance.now()
  await addLatest(unrolledCount)
  // The database would do this itself within a minute.
  await (isPostgres(gateway.db)
    ? sql`analyze generations, unrolled_generations, usage_segments, usage_columns`
    : sql`analyze`
  ).execute(gateway.db)
  const calls: Record<string, Timing> = {}
  for (const [name, path, body] of buildWorkload(server, hashes, await sampleGenerationIds(server))) {
    calls[name] = await measureCall(server, server.own, path, body)
  }
  calls['small organization: by model and key, 30 days'] = await measureCall(
    server,
    small,
    '/analytics/query',
    () => ({
      metrics: ['total_usage'],
      dimensions: ['model', 'api_key_id'],
      time_range: lastDays(server, 30),
    }),
  )
  return {
    rows,
    seedSeconds: (rolling - seeding) / 1000,
    rollSeconds: (rolled - rolling) / 1000,
    rollUpBytes: await sumRollUpBytes(server),
    calls,
  }
}

async function sampleGenerationIds({ gateway, own }: TestServer): Promise<string[]> {
  const rows = await gateway.db
    .selectFrom('generations')
    .select('id')
    .where('organization_id', '=', own.organization.id)
    .limit(1000)
    .execute()
  return rows.map(({ id }) => id)
}

type Body = Record<string, unknown>
type Call = [name: string, path: string | ((i: number) => string), body?: (i: number) => Body]

function buildWorkload(server: TestServer, hashes: string[], generations: string[]): Call[] {
  const dayAt = (i: number) =>
    new Date(server.clock.now() - (1 + (i % 30)) * 86_400_000).toISOString().slice(0, 10)
  const query = (name: string, days: number, body: Body | ((i: number) => Body)): Call => [
    name,
    '/analytics/query',
    (i) => ({ time_range: lastDays(server, days, i), ...(typeof body === 'function' ? body(i) : body) }),
  ]
  const modelIs = (i: number) => [{ field: 'model', operator: 'eq', value: `maker/model-${i % 40}` }]
  return [
    ['GET /credits', '/credits'],
    ['GET /generation', (i) => `/generation?id=${generations[i % generations.length]}`],
    ['GET /generations', '/generations?limit=100'],
    ['GET /generations, failed', '/generations?status=failed&limit=100'],
    ['GET /generations, one key', (i) => `/generations?key=${hashes[(i * 7) % hashes.length]}`],
    ['GET /generations, a page without a match', (i) => `/generations?session_id=none-${i}`],
    ['GET /generations/histogram', '/generations/histogram'],
    ['GET /activity', '/activity'],
    ['GET /activity, by workspace', '/activity?group_by=workspace'],
    ['GET /activity, one day', (i) => `/activity?date=${dayAt(i)}`],
    ['GET /activity, one key', (i) => `/activity?api_key_hash=${hashes[(i * 7) % hashes.length]}`],
    ['GET /analytics/meta', '/analytics/meta'],
    query('requests, 30 days', 30, { metrics: ['request_count'] }),
    query('usage by model, 30 days', 30, { metrics: ['total_usage', 'tokens_total'], dimensions: ['model'] }),
    query('usage by day and model, 30 days', 30, {
      metrics: ['total_usage', 'request_count', 'tokens_total'],
      dimensions: ['model'],
      granularity: 'day',
    }),
    query('usage by model and key, 30 days', 30, {
      metrics: ['total_usage'],
      dimensions: ['model', 'api_key_id'],
    }),
    query('usage by app and user, 30 days', 30, { metrics: ['total_usage'], dimensions: ['app', 'user'] }),
    query('usage by workspace of one model, 30 days', 30, (i) => ({
      metrics: ['credits_usage'],
      dimensions: ['workspace'],
      filters: modelIs(i),
    })),
    query('requests by external user, 30 days', 30, {
      metrics: ['request_count'],
      dimensions: ['external_user'],
    }),
    query('requests by finish reason and model, 30 days', 30, {
      metrics: ['request_count'],
      dimensions: ['finish_reason', 'model'],
    }),
    query('requests by context length and provider, 30 days', 30, {
      metrics: ['request_count'],
      dimensions: ['context_length_bucket', 'provider'],
    }),
    query('requests by origin of one model, 30 days', 30, (i) => ({
      metrics: ['request_count'],
      dimensions: ['origin'],
      filters: modelIs(i),
    })),
    query('usage by provider and variant, 30 days', 30, {
      metrics: ['total_usage'],
      dimensions: ['provider', 'variant'],
    }),
    query('requests by country, 30 days', 30, { metrics: ['request_count'], dimensions: ['country'] }),
    query('latency p99 by model, 30 days', 30, { metrics: ['p99_latency'], dimensions: ['model'] }),
    query('throughput p50 by provider, 30 days', 30, {
      metrics: ['p50_throughput'],
      dimensions: ['provider'],
    }),
    query('usage by hour and model, 30 days', 30, {
      metrics: ['total_usage'],
      dimensions: ['model'],
      granularity: 'hour',
      limit: 10_000,
    }),
    query('requests by hour and key, 7 days', 7, {
      metrics: ['request_count'],
      dimensions: ['api_key_id'],
      granularity: 'hour',
      limit: 10_000,
    }),
    query('requests by minute and model, 3 hours', 1 / 8, {
      metrics: ['request_count'],
      dimensions: ['model'],
      granularity: 'minute',
    }),
    query('usage by week and workspace, 30 days', 30, {
      metrics: ['total_usage'],
      dimensions: ['workspace'],
      granularity: 'week',
    }),
    query('newest generations, 30 days', 30, {
      metrics: ['total_usage'],
      dimensions: ['generation_id'],
      limit: 100,
    }),
  ]
}

/** Shifted with each call, so that no two calls are identical. */
function lastDays(server: TestServer, days: number, i = 0) {
  const end = server.clock.now() - i * 977_000
  return { start: new Date(end - days * 86_400_000).toISOString(), end: new Date(end).toISOString() }
}

async function measureCall(
  server: TestServer,
  { managementKey }: Tenant,
  path: string | ((i: number) => string),
  body?: (i: number) => Body,
): Promise<Timing> {
  const times: number[] = []
  // A new minute for each, because queries are rate limited per minute.
  server.clock.advance(60_000)
  for (let i = -5; i < repeats; i++) {
    const url = `${server.url}/api/v1${typeof path === 'string' ? path : path(i + 5)}`
    const startedAt = performance.now()
    const response = await fetch(url, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${managementKey}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body(i + 5)) }),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`)
    if (i >= 0) times.push(performance.now() - startedAt)
  }
  times.sort((a, b) => a - b)
  return {
    best: times[0] ?? 0,
    p50: times[Math.floor(repeats * 0.5)] ?? 0,
    p95: times[Math.floor(repeats * 0.95)] ?? 0,
  }
}

async function sumRollUpBytes({ gateway }: TestServer): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select sum(length(body)) as bytes from usage_columns`.execute(
    gateway.db,
  )
  return Number(rows[0]?.bytes ?? 0)
}

function printReport(kind: string, report: Report): void {
  const { rows, seedSeconds, rollSeconds, rollUpBytes: bytes, calls } = report
  process.stdout.write(
    `\n${kind}: ${rows.toLocaleString('en')} generations, half of them in the organization of the caller ` +
      `(seeded in ${seedSeconds.toFixed(0)} s, rolled up in ${rollSeconds.toFixed(0)} s into ${(bytes / 2 ** 20).toFixed(0)} MB)\n`,
  )
  for (const [name, { best, p50, p95 }] of Object.entries(calls)) {
    const verdict = p95 <= targetMs ? '' : `   over ${targetMs} ms`
    process.stdout.write(
      `  ${name.padEnd(52)} best ${best.toFixed(1).padStart(6)} ms   p50 ${p50.toFixed(1).padStart(6)} ms   p95 ${p95.toFixed(1).padStart(6)} ms${verdict}\n`,
    )
  }
}
