// Generations arrive in ClickHouse once, whatever fails on the way, and analytics never notice.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { deleteStream, repeatBackfill } from '../src/analytics/clickhouse/stream-store.ts'
import { deleteOldGenerations, runMaintenance } from '../src/analytics/rollups/retention.ts'
import { exportToClickHouse } from '../src/jobs.ts'
import { hasClickHouse, TestClickHouse } from './support/clickhouse.ts'
import { databaseKinds, startTestServer, type TestServer } from './support/harness.ts'
import { buildGeneration, insertGenerations } from './support/records.ts'

const now = '2028-03-15T12:00:00.000Z'
const dayMs = 86_400_000
const insertUsage = /^INSERT INTO headgate_usage/
const insertGeneration = /^INSERT INTO headgate_generations/

describe.if(hasClickHouse).each(databaseKinds)('the export from %s to ClickHouse', (kind) => {
  let engine: TestClickHouse
  let server: TestServer

  beforeAll(async () => {
    engine = await TestClickHouse.start()
  })
  afterAll(() => engine.stop())
  let environment: Record<string, string>
  beforeEach(async () => {
    engine.fault = null
    environment = await engine.newEnvironment()
    server = await startTestServer(kind, { environment })
    server.clock.freeze(now)
  })
  afterEach(async () => {
    server.clock.release()
    await server.stop()
  })

  const db = () => server.gateway.db
  const dayBefore = (days: number) => new Date(Date.parse(now) - days * dayMs).toISOString()
  /** Settles requests of one day, and rolls them up. */
  const settle = async (count: number, days = 1) => {
    const created_at = dayBefore(days)
    const rows = Array.from({ length: count }, () =>
      buildGeneration(server.own, { created_at, cost_nanos: 1000n, tokens_input: 7 }),
    )
    await insertGenerations(db(), rows)
    await server.gateway.rollUps.rollUp({ isAll: true })
    return rows
  }
  const exportAll = () => exportToClickHouse(server.gateway)
  const database = () => new URL(environment.CLICKHOUSE_URL!).pathname.slice(1)
  const stored = async (table = 'headgate_usage', modifier = 'FINAL') =>
    Number((await engine.query(`SELECT count() AS n FROM ${table} ${modifier}`, database()))[0]!.n)
  const queued = async () => (await db().selectFrom('clickhouse_queue').selectAll().execute()).length
  const stream = () => db().selectFrom('clickhouse_stream').selectAll().executeTakeFirstOrThrow()
  const status = () => server.gateway.clickhouse!.status
  const time_range = { start: '2027-12-01T00:00:00Z', end: '2028-03-16T00:00:00Z' }
  const count = async () => {
    server.clock.advance(1000)
    const body = { metrics: ['request_count', 'credits_usage'], time_range }
    const reply = await server.call('POST', '/analytics/query', { body })
    const [row] = reply.body.data.data
    return [row.request_count, row.credits_usage]
  }
  const list = async () => (await server.call('GET', '/generations?limit=100')).body.data.length

  test('what was not acknowledged is sent again, and counts once', async () => {
    await exportAll()
    await settle(20)
    for (const when of [insertUsage, insertGeneration]) {
      engine.fault = { when, kind: 'unacknowledged' }
      await exportAll()
      expect(await queued()).toBe(20)
      expect(status()).toMatchObject({ isConnected: false, problem: 'ClickHouse cannot be reached' })
      expect(await count()).toEqual([20, 0.00002])
    }
    engine.fault = null
    await exportAll()
    expect(await queued()).toBe(0)
    expect(await stored('headgate_usage', '')).toBeGreaterThanOrEqual(20)
    expect([await stored(), await stored('headgate_generations')]).toEqual([20, 20])
    expect([await count(), await list(), status().isConnected]).toEqual([[20, 0.00002], 20, true])
  })

  test('while ClickHouse is away, requests are queued and answers come from the database', async () => {
    await settle(5, 40)
    await exportAll()
    engine.fault = { when: /./, kind: 'refused' }
    await settle(10)
    await exportAll()
    expect([await count(), await list()]).toEqual([[15, 0.000015], 15])
    const system = (await server.call('GET', '/system')).body.data
    expect(system.clickhouse).toMatchObject({ is_connected: false, is_backfilled: true })
    expect(system.warnings.map(({ code }: { code: string }) => code)).toContain('clickhouse_unavailable')
    const queue = system.queues.find(({ name }: { name: string }) => name === 'clickhouse_export')
    expect(queue.waiting).toBe(10)
    expect(JSON.stringify(system)).not.toContain(encodeURIComponent('pass"word'))
    const { fallbacks } = status()
    expect(fallbacks).toBeGreaterThanOrEqual(1)
    engine.fault = null
    await exportAll()
    expect([await queued(), await stored(), await count()]).toEqual([0, 15, [15, 0.000015]])
    expect(status()).toMatchObject({ isConnected: true, fallbacks })
  })

  test('an interrupted backfill continues where it was, and answers are whole meanwhile', async () => {
    // Before the stream began: rolled up, and not queued.
    for (const days of [3, 20, 60]) await settle(2500, days)
    const expected = [7500, 0.0075]
    engine.fault = { when: insertGeneration, kind: 'unacknowledged' }
    await exportAll()
    expect(await stream()).toMatchObject({ is_backfilled: 0, backfill_position: null, covered_from: null })
    expect(await count()).toEqual(expected)
    // The second batch fails: the first one is not repeated.
    let inserts = 0
    engine.fault = {
      kind: 'refused',
      when: { test: (sql: string) => insertUsage.test(sql) && ++inserts > 1 },
    }
    await exportAll()
    const { backfill_position, covered_from, is_backfilled } = await stream()
    expect({ backfill_position, is_backfilled }).toEqual({
      backfill_position: dayBefore(60),
      is_backfilled: 0,
    })
    expect(covered_from! > dayBefore(60).slice(0, 10) && covered_from! < dayBefore(3)).toBe(true)
    // Days from ClickHouse, and earlier ones from the roll-ups.
    engine.fault = null
    expect(await count()).toEqual(expected)
    await exportAll()
    expect(await stream()).toMatchObject({ is_backfilled: 1, covered_from: '0000-01-01' })
    expect([await stored(), await stored('headgate_generations'), await count()]).toEqual([
      7500,
      7500,
      expected,
    ])
    expect(await queued()).toBe(0)
  })

  test('generations can be sent again from any time, which changes nothing', async () => {
    await settle(30, 10)
    await settle(10, 2)
    await exportAll()
    const { exported } = await stream()
    expect(await repeatBackfill(db(), dayBefore(5))).toBe(true)
    await exportAll()
    expect(Number((await stream()).exported)).toBe(Number(exported) + 10)
    expect(await repeatBackfill(db(), '')).toBe(true)
    await exportAll()
    expect(await stream()).toMatchObject({ backfill_until: null, is_backfilled: 1 })
    expect([await stored(), await count(), await list()]).toEqual([40, [40, 0.00004], 40])
  })

  test('a node that was paused cannot replace what a later one has sent', async () => {
    await exportAll()
    const [row] = await settle(1)
    await exportAll()
    const [{ version } = { version: 0 }] = await engine.query(
      'SELECT version FROM headgate_usage',
      database(),
    )
    // The same insert as before, later: the row of a correction has a higher version.
    await engine.query(
      `INSERT INTO headgate_usage SELECT * REPLACE(version + 1 AS version, 5 AS sum_credits) FROM headgate_usage;`,
      database(),
    )
    await engine.query(
      `INSERT INTO headgate_usage SELECT * FROM headgate_usage WHERE version = ${version}`,
      database(),
    )
    expect(row).toBeDefined()
    expect(await count()).toEqual([1, 5e-9])
  })

  test('generations that the database deletes for their age are hidden, then deleted in ClickHouse', async () => {
    await settle(4, 100)
    await settle(3, 50)
    await settle(2, 3)
    await exportAll()
    expect([await list(), await stored('headgate_generations')]).toEqual([9, 9])
    const maintenance = { db: db(), clock: server.clock }
    await deleteOldGenerations(maintenance, 92)
    expect(await list()).toBe(5)
    server.clock.advance(2 * 3_600_000)
    await exportAll()
    expect(await stored('headgate_generations')).toBe(5)
    await deleteOldGenerations(maintenance, 30)
    server.clock.advance(2 * 3_600_000)
    await exportAll()
    expect([await list(), await stored('headgate_generations')]).toEqual([2, 2])
    // Sums stay, as the roll-ups do.
    expect(await count()).toEqual([9, 0.000009])
  })

  test('a deletion that fails is repeated after an hour, not at once', async () => {
    await settle(4, 100)
    await exportAll()
    await deleteOldGenerations({ db: db(), clock: server.clock }, 92)
    server.clock.advance(2 * 3_600_000)
    let searches = 0
    engine.fault = {
      kind: 'refused',
      when: { test: (sql: string) => sql.startsWith('SELECT _partition_id') && ++searches > 0 },
    }
    for (let runs = 0; runs < 3; runs++) await exportAll()
    expect(searches).toBe(1)
    engine.fault = null
    server.clock.advance(2 * 3_600_000)
    await exportAll()
    expect(await stored('headgate_generations')).toBe(0)
  })

  test('generations that ClickHouse does not have are not deleted', async () => {
    await exportAll()
    engine.fault = { when: /./, kind: 'refused' }
    await settle(4, 100)
    const maintenance = { db: db(), clock: server.clock }
    const inDatabase = async () => (await db().selectFrom('generations').select('id').execute()).length
    await deleteOldGenerations(maintenance, 92)
    expect(await inDatabase()).toBe(4)
    engine.fault = null
    await exportAll()
    // By row, or with their month.
    await deleteOldGenerations(maintenance, 92)
    expect(await inDatabase()).toBe(0)
    expect(await stored()).toBe(4)
  })

  test('tables of another installation are refused, and empty ones are filled', async () => {
    await settle(6)
    await exportAll()
    await deleteStream(db())
    await exportAll()
    expect(status().problem).toContain('headgate clickhouse reset')
    expect(await count()).toEqual([6, 0.000006])
    for (const table of ['headgate_stream', 'headgate_usage', 'headgate_generations'])
      await engine.query(`DROP TABLE ${table} SYNC`, database())
    await exportAll()
    expect([status().problem, await stored(), await count()]).toEqual([null, 6, [6, 0.000006]])
  })

  test('a stream without nodes ends, so that its queue does not grow', async () => {
    await exportAll()
    engine.fault = { when: /./, kind: 'refused' }
    await settle(3)
    const maintain = () =>
      runMaintenance({ db: db(), clock: server.clock }, { retentionDays: null, postingDays: null })
    await maintain()
    expect(await queued()).toBe(3)
    server.clock.advance(3 * dayMs)
    await maintain()
    await settle(1)
    expect([await queued(), (await stream()).is_ended]).toEqual([0, 1])
    expect(await count()).toEqual([4, 0.000004])
    // A node is back: everything is sent again.
    engine.fault = null
    await exportAll()
    expect(await stream()).toMatchObject({ is_ended: 0, is_backfilled: 1 })
    expect([await stored(), await count()]).toEqual([4, [4, 0.000004]])
  })
})
