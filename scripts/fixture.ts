// Writes databases of this version with data to test/fixtures/schemas/<last migration>, for the upgrade tests of later
// versions. Run it once for each release that changes the schema, the format of holds or the journal.
import { Database } from 'bun:sqlite'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { migrations } from '../src/db/migrations/all.ts'
import { rollUp } from '../src/ledger/rollups/roll-up.ts'
import { buildSettings, sendRequest } from '../test/inference/two-upstreams.ts'
import { type DatabaseKind, startTestServer, type TestServer } from '../test/support/harness.ts'
import { createOrphanedHold } from '../test/support/orphaned-holds.ts'
import { startUpstream } from '../test/support/upstream.ts'

const name = Object.keys(migrations).sort().at(-1) ?? ''
const folder = resolve('test/fixtures/schemas', name)
/** Secrets in the fixtures are sealed with it. */
const secretKey = 'secret-key-of-the-fixtures'
const firstDay = '2026-09-30T22:00:00.000Z'
const minuteMs = 60_000

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const kind of ['sqlite', 'postgres'] as const) await writeFixture(kind)
process.stdout.write(`Written to ${folder}.\n`)
process.exit(0)

async function writeFixture(kind: DatabaseKind): Promise<void> {
  const upstream = await startUpstream()
  const settings = buildSettings(upstream.url, upstream.url)
  const server = await startTestServer(kind, { settings, environment: { HEADGATE_SECRET_KEY: secretKey } })
  const bench = { server, first: upstream, second: upstream }
  server.clock.freeze(firstDay)
  const chat = async () => {
    await (await sendRequest(bench, 'chat', { model: 'test/chat', max_tokens: 100 })).text()
    server.clock.advance(minuteMs)
  }
  for (let count = 0; count < 3; count++) await chat()
  const byok = { provider: 'one-chat', key: 'own-credential-0123456789', is_byok_only: true }
  await server.call('POST', '/byok', { body: byok })
  await chat()
  await server.gateway.ledger.flush()
  await rollUp({ db: server.gateway.db }, { minRows: 1 })
  server.clock.advance(3 * 60 * minuteMs)
  await chat()
  const holds = [await createOrphanedHold(server, null), await createOrphanedHold(server, 12)]
  await server.gateway.ledger.flush()
  await dumpDatabase(server, kind, chat)
  await server.gateway.ledger.flush()
  writeFileSync(
    join(folder, `${kind}.json`),
    `${JSON.stringify(await readExpected(server, holds), null, 2)}\n`,
  )
  await server.stop()
  await upstream.stop()
}

async function dumpDatabase(
  { gateway }: TestServer,
  kind: DatabaseKind,
  chat: () => Promise<void>,
): Promise<void> {
  const { databaseUrl } = gateway.config
  if (kind === 'postgres') {
    await chat()
    writeFileSync(join(folder, 'postgres.sql'), dumpPostgres(databaseUrl))
  } else await dumpSqlite(databaseUrl, chat)
}

/** With a charge that is only in the journal, as after a crash. */
async function dumpSqlite(path: string, chat: () => Promise<void>): Promise<void> {
  const database = new Database(path)
  database.run('begin immediate')
  await chat()
  for (const file of readdirSync(dirname(path)).filter((file) => file.includes('.sqlite-ledger-'))) {
    copyFileSync(join(dirname(path), file), join(folder, file))
  }
  const reader = new Database(path, { readonly: true })
  const copy = join(folder, 'copy.sqlite')
  reader.run('vacuum into ?', [copy])
  reader.close()
  database.run('commit')
  database.close()
  writeFileSync(join(folder, 'headgate.sqlite.gz'), gzipSync(readFileSync(copy), { level: 9 }))
  rmSync(copy)
}

function dumpPostgres(url: string): string {
  const args = ['--inserts', '--no-owner', '--no-privileges', '--no-comments', url]
  const { stdout, stderr, status } = spawnSync('pg_dump', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`pg_dump: ${stderr}`)
  const lines = stdout.split('\n').filter((line) => line !== '' && !/^(--|\\)/.test(line))
  return `${lines.join('\n')}\n`
}

/** The responses of this version's API. */
async function readExpected(server: TestServer, holds: unknown[]) {
  const { managementKey, inferenceKey } = server.own
  const credits = await server.call('GET', '/credits')
  const key = await server.call('GET', '/key', { key: inferenceKey })
  const generations = await server.gateway.db
    .selectFrom('generations')
    .select(['id', 'cost_nanos', 'upstream_cost_nanos', 'tokens_output'])
    .orderBy('id')
    .execute()
  const { usage, usage_daily, usage_weekly, usage_monthly, byok_usage } = key.body.data
  return {
    now: new Date(server.clock.now()).toISOString(),
    secretKey,
    managementKey,
    inferenceKey,
    credits: credits.body.data,
    key: { usage, usage_daily, usage_weekly, usage_monthly, byok_usage },
    generations: generations.map((row) => ({
      id: row.id,
      cost: Number(row.cost_nanos),
      upstreamCost: Number(row.upstream_cost_nanos),
      outputTokens: row.tokens_output,
    })),
    holds,
  }
}
