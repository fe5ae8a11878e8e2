import { describe, expect, test } from 'bun:test'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { SQL } from 'bun'
import { rollUp } from '../src/analytics/rollups/roll-up.ts'
import { readConfig } from '../src/config.ts'
import type { Gateway } from '../src/gateway/gateway.ts'
import { checkLedger } from '../src/ledger/check.ts'
import { ClusterNode } from '../src/ledger/recovery.ts'
import { openGateway, startServer } from '../src/main.ts'
import { migrate } from '../src/platform/db/db.ts'
import { TestClock } from './support/clocks.ts'
import { createDatabase } from './support/databases.ts'
import { type DatabaseKind, databaseKinds } from './support/harness.ts'

const schemas = resolve(import.meta.dir, 'fixtures/schemas')

interface Expected {
  now: string
  secretKey: string
  managementKey: string
  inferenceKey: string
  credits: { total_credits: number; total_usage: number }
  key: Record<string, number>
  generations: { id: string; cost: number; upstreamCost: number; outputTokens: number }[]
  /** Costs of interrupted requests, from their checkpoints, in nano-dollars. */
  holds: { id: string; cost: number }[]
}

interface Installation {
  expected: Expected
  gateway: Gateway
  get: (path: string, key?: string) => Promise<{ data: Record<string, unknown> }>
  stop: () => Promise<void>
}

/** The data of a release, upgraded to this version. */
async function takeOver(release: string, kind: DatabaseKind): Promise<Installation> {
  const folder = join(schemas, release)
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-upgrade-'))
  const database = kind === 'postgres' ? await createDatabase() : null
  if (database) await loadDump(database.url, join(folder, 'postgres.sql'))
  else unpackSqlite(folder, dataDir)
  const expected: Expected = JSON.parse(readFileSync(join(folder, `${kind}.json`), 'utf8'))
  const clock = new TestClock()
  clock.freeze(expected.now)
  const config = readConfig({
    ...{
      HEADGATE_DATA_DIR: dataDir,
      HEADGATE_SECRET_KEY: expected.secretKey,
      PORT: '0',
      LOG_LEVEL: 'silent',
    },
    ...(database && { DATABASE_URL: database.url }),
  })
  const gateway = await openGateway(config, clock)
  await gateway.ledger.open()
  const server = startServer(gateway)
  return {
    expected,
    gateway,
    get: async (path, key = expected.managementKey) => {
      const headers = { authorization: `Bearer ${key}` }
      const response = await fetch(`http://127.0.0.1:${server.port}/api/v1${path}`, { headers })
      expect(response.status).toBe(200)
      return (await response.json()) as { data: Record<string, unknown> }
    },
    stop: async () => {
      await server.stop(true)
      await gateway.ledger.close()
      await gateway.db.destroy()
      await database?.drop()
      rmSync(dataDir, { recursive: true })
    },
  }
}

function unpackSqlite(folder: string, dataDir: string): void {
  const path = join(dataDir, 'headgate.sqlite')
  writeFileSync(path, gunzipSync(readFileSync(join(folder, 'headgate.sqlite.gz'))))
  for (const file of readdirSync(folder).filter((name) => name.includes('.sqlite-ledger-'))) {
    copyFileSync(join(folder, file), join(dataDir, file))
  }
}

async function loadDump(url: string, path: string): Promise<void> {
  const connection = new SQL(url, { max: 1 })
  await connection.unsafe(readFileSync(path, 'utf8'))
  await connection.close()
}

function readHold({ headgate }: Record<string, unknown>): number {
  return (headgate as { hold: number }).hold
}

async function problems({ db }: Gateway): Promise<string[]> {
  return (await checkLedger(db)).findings.flatMap(({ violations }) => violations)
}

for (const kind of databaseKinds) {
  describe.each(readdirSync(schemas))(
    `an installation of the release with schema %s (${kind})`,
    (release) => {
      test('R7 I2 I6 preserves its totals, settles open holds, and passes the ledger check', async () => {
        const { expected, gateway, get, stop } = await takeOver(release, kind)
        try {
          expect(await migrate(gateway.db)).toEqual([])
          expect((await get('/credits')).data).toEqual(expected.credits)
          expect((await get('/key', expected.inferenceKey)).data).toMatchObject(expected.key)
          for (const { id, cost, outputTokens } of expected.generations) {
            const { data } = await get(`/generation?id=${id}`)
            expect(data).toMatchObject({ total_cost: cost / 1e9, tokens_completion: outputTokens })
          }
          expect(await problems(gateway)).toEqual([])

          const now = new Date(gateway.clock.now()).toISOString()
          const outcome = await new ClusterNode(true).settleOrphans(gateway.db, gateway.ledger, now)
          expect(outcome).toMatchObject({ settled: expected.holds.length, unrecovered: [] })
          for (const { id, cost } of expected.holds) {
            const { data } = await get(`/generation?id=${id}`)
            expect(data).toMatchObject({
              total_cost: cost / 1e9,
              model: 'test/chat',
              session_id: 'session-1',
            })
            expect(data.headgate).toMatchObject({ flag: 'interrupted' })
            expect(readHold(data)).toBeGreaterThanOrEqual(cost / 1e9)
          }
          const owed = expected.holds.reduce((sum, { cost }) => sum + cost, 0) / 1e9
          const { data } = await get('/credits')
          expect(data.total_usage).toBeCloseTo(expected.credits.total_usage + owed, 9)

          await rollUp({ db: gateway.db }, { minRows: 1 })
          expect(await problems(gateway)).toEqual([])
        } finally {
          await stop()
        }
      })
    },
  )
}
