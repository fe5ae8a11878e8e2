// Lists and lookups in a large installation: 100,000 keys and 10,000 members, on both databases.
// Prints the median and the 99th percentile of each call over HTTP, and the ratio to a near-empty database.
import { sql } from 'kysely'
import { sha256 } from '../src/platform/crypto/crypto.ts'
import { newId, newUuid } from '../src/platform/crypto/ids.ts'
import { isPostgres } from '../src/platform/db/db.ts'
import { databaseKinds, startTestServer, type TestServer } from '../test/support/harness.ts'

const keyCount = 100_000
const memberCount = 10_000
const repeats = 200
const batchSize = 1000

interface Timing {
  p50: number
  p99: number
}

type Report = Record<string, Record<string, Timing & { ratio: number }>>

export async function measureStorage(): Promise<void> {
  const report: Report = {}
  for (const kind of databaseKinds) {
    const server = await startTestServer(kind)
    const before = await measureAll(server)
    await seedDatabase(server)
    const after = await measureAll(server)
    report[kind] = Object.fromEntries(
      Object.entries(after).map(([name, timing]) => [
        name,
        { ...timing, ratio: timing.p50 / (before[name]?.p50 ?? 1) },
      ]),
    )
    await server.stop()
  }
  printReport(report)
  await Bun.write('bench/results/storage.json', `${JSON.stringify(report, null, 2)}\n`)
}

async function measureAll(server: TestServer): Promise<Record<string, Timing>> {
  const known = sha256(server.own.inferenceKey)
  const keys = await server.call('GET', '/keys')
  const deepest = keys.body.data.length === 100 ? keyCount - 200 : 0
  const deepMember = keys.body.data.length === 100 ? memberCount - 100 : 0
  return {
    'authenticate (GET /key)': await measureCall(() =>
      server.call('GET', '/key', { key: server.own.inferenceKey }),
    ),
    'GET /keys/{hash}': await measureCall(() => server.call('GET', `/keys/${known}`)),
    'GET /keys, first page': await measureCall(() => server.call('GET', '/keys')),
    'GET /keys, last page': await measureCall(() => server.call('GET', `/keys?offset=${deepest}`)),
    'GET /keys, last page, disabled too': await measureCall(() =>
      server.call('GET', `/keys?include_disabled=true&offset=${deepest}`),
    ),
    'GET /organization/members, first page': await measureCall(() =>
      server.call('GET', '/organization/members?limit=100'),
    ),
    'GET /organization/members, last page': await measureCall(() =>
      server.call('GET', `/organization/members?limit=100&offset=${deepMember}`),
    ),
    'GET /workspaces/default/members': await measureCall(() =>
      server.call('GET', '/workspaces/default/members?limit=100'),
    ),
  }
}

async function measureCall(work: () => Promise<unknown>): Promise<Timing> {
  for (let i = 0; i < 20; i++) await work()
  const times: number[] = []
  for (let i = 0; i < repeats; i++) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  return { p50: times[Math.floor(repeats * 0.5)] ?? 0, p99: times[Math.floor(repeats * 0.99)] ?? 0 }
}

async function seedDatabase(server: TestServer): Promise<void> {
  const { db } = server.gateway
  const scope = { organization_id: server.own.organization.id, workspace_id: server.own.workspace.id }
  const created_at = new Date().toISOString()
  for (let done = 0; done < keyCount; done += batchSize) {
    const rows = Array.from({ length: batchSize }, (_, i) => ({
      ...scope,
      hash: sha256(`bench-${done + i}`),
      kind: 'inference' as const,
      name: `key ${done + i}`,
      label: 'sk-hg-v1-abc...def',
      creator_user_id: null,
      limit_nanos: null,
      limit_reset: null,
      include_byok_in_limit: 0 as const,
      disabled: 0 as const,
      expires_at: null,
      external_user: null,
      external_hash: null,
      source: 'api' as const,
      created_at,
      updated_at: null,
    }))
    await db.insertInto('api_keys').values(rows).execute()
  }
  for (let done = 0; done < memberCount; done += batchSize) {
    const members = Array.from({ length: batchSize }, (_, i) => ({
      id: newId('user'),
      organization_id: scope.organization_id,
      email: `member-${done + i}@example.com`,
      first_name: null,
      last_name: null,
      role: 'org:member' as const,
      created_at,
    }))
    await db.insertInto('members').values(members).execute()
    const rows = members.map((member) => ({
      id: newUuid(),
      workspace_id: scope.workspace_id,
      user_id: member.id,
      role: 'member' as const,
      created_at,
    }))
    await db.insertInto('workspace_members').values(rows).execute()
  }
  // The database would do this itself within a minute.
  await (isPostgres(db) ? sql`vacuum analyze` : sql`analyze`).execute(db)
}

function printReport(report: Report): void {
  for (const [kind, rows] of Object.entries(report)) {
    process.stdout.write(`\n${kind}: ${keyCount} keys, ${memberCount} members\n`)
    for (const [name, { p50, p99, ratio }] of Object.entries(rows)) {
      process.stdout.write(
        `  ${name.padEnd(40)} p50 ${p50.toFixed(2)} ms   p99 ${p99.toFixed(2)} ms   ${ratio.toFixed(1)}x the empty database\n`,
      )
    }
  }
}
