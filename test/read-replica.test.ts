import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { sql } from 'kysely'
import {
  type PostgresServer,
  type PostgresStandby,
  startPostgres,
  startStandby,
} from '../scripts/postgres.mjs'
import { sendHeartbeat } from '../src/jobs.ts'
import type { Db } from '../src/platform/db/db.ts'
import { createDatabase } from './support/databases.ts'
import { insertGeneration } from './support/generations.ts'
import { databaseKinds, startTestServer, type TestServer } from './support/harness.ts'
import { waitUntil } from './support/wait-until.ts'

describe.if(databaseKinds.includes('postgres'))('a streaming standby as DATABASE_REPLICA_URL', () => {
  let primary: PostgresServer
  let standby: PostgresStandby
  let server: TestServer
  let admin: SQL

  beforeAll(async () => {
    const started = await startPostgres()
    if (!started) throw new Error('PostgreSQL could not be started')
    primary = started
    standby = await startStandby(primary.url)
    server = await startTestServer('postgres', {
      environment: { DATABASE_URL: primary.url, DATABASE_REPLICA_URL: standby.url },
    })
    server.clock.freeze('2028-03-15T12:00:00.000Z')
    admin = new SQL(standby.url, { max: 1 })
  }, 60_000)
  afterAll(async () => {
    await admin.close({ timeout: 1 })
    await server.stop()
    standby.stop()
    primary.stop()
  })

  const replica = () => server.gateway.replica!
  /** How many reads each of the two databases has answered since the last call. */
  const takeCounts = () => {
    const { reads, fallbacks } = replica().status
    Object.assign(replica().status, { reads: 0, fallbacks: 0 })
    return { reads, fallbacks }
  }
  const beat = () => sendHeartbeat(server.gateway)
  const catchUp = async () => {
    await beat()
    await waitUntil(async () => (await replica().measure()) && replica().lagMs === 0)
  }
  const insert = (id: string) =>
    insertGeneration(server.gateway, server.own, {
      id,
      request_id: `req-${id}`,
      created_at: '2028-03-15T11:00:00.000Z',
      ended_at: '2028-03-15T11:00:01.000Z',
    })
  const listIds = async (filters = '') => {
    const { status, body } = await server.call('GET', `/generations?${filters}`)
    expect(status).toBe(200)
    return body.data.map(({ id }: { id: string }) => id)
  }
  const countRequests = async (filters: object[] = []) => {
    const { status, body } = await server.call('POST', '/analytics/query', {
      body: {
        metrics: ['request_count'],
        filters,
        time_range: { start: '2028-03-14T00:00:00Z', end: '2028-03-16T00:00:00Z' },
      },
    })
    expect(status).toBe(200)
    return body.data.data[0]?.request_count ?? 0
  }
  const findGeneration = async (id: string) => (await server.call('GET', `/generation?id=${id}`)).status
  const readState = async () => {
    const { status, body } = await server.call('GET', '/system')
    expect(status).toBe(200)
    const codes = body.data.warnings.map(({ code }: { code: string }) => code)
    return { ...body.data.replica, isWarned: codes.includes('replica_unavailable') }
  }

  beforeEach(async () => {
    await catchUp()
    takeCounts()
  })

  test('answers analytics, the request log and datasets', async () => {
    await insert('gen-first')
    await catchUp()
    await waitUntil(async () => (await listIds()).length === 1)
    takeCounts()
    expect(await listIds()).toEqual(['gen-first'])
    expect(await countRequests()).toBe(1)
    for (const path of [
      ...['/activity', '/generations/histogram', '/datasets/rankings-daily', '/datasets/app-rankings'],
      ...['/datasets/session-cost', '/classifications/task'],
    ])
      expect([path, (await server.call('GET', path)).status]).toEqual([path, 200])
    expect(takeCounts()).toEqual({ reads: 8, fallbacks: 0 })
    expect(await readState()).toEqual({
      is_used: true,
      lag_seconds: 0,
      max_lag_seconds: 5,
      reads: 0,
      fallbacks: 0,
      isWarned: false,
    })
  })

  test('is left alone while it is too far behind, and used again afterwards', async () => {
    await admin`select pg_wal_replay_pause()`
    await waitUntil(async () => {
      const [row] = await admin`select pg_get_wal_replay_pause_state() as state`
      return row.state === 'paused'
    })
    await insert('gen-second')
    expect(await listIds()).toEqual(['gen-first'])
    expect(takeCounts()).toEqual({ reads: 1, fallbacks: 0 })

    // What a caller asks for by its id is there at once.
    expect(await findGeneration('gen-second')).toBe(200)
    expect(await listIds('id=gen-second')).toEqual(['gen-second'])
    expect(await listIds('request_id=req-gen-second')).toEqual(['gen-second'])
    expect(await countRequests([{ field: 'generation_id', operator: 'eq', value: 'gen-second' }])).toBe(1)
    expect(takeCounts()).toEqual({ reads: 0, fallbacks: 0 })

    server.clock.advance(5001)
    await beat()
    expect((await listIds()).sort()).toEqual(['gen-first', 'gen-second'])
    expect(await countRequests()).toBe(2)
    expect(takeCounts()).toEqual({ reads: 0, fallbacks: 2 })
    expect(await readState()).toMatchObject({ is_used: false, lag_seconds: 5.001, isWarned: true })
    const { body } = await server.gateway.metrics.render()
    expect(body).toContain('headgate_replica_up 0')
    expect(body).toContain('headgate_replica_lag_seconds 5.001')

    await admin`select pg_wal_replay_resume()`
    await catchUp()
    expect((await listIds()).sort()).toEqual(['gen-first', 'gen-second'])
    expect(takeCounts()).toEqual({ reads: 1, fallbacks: 0 })
    expect(await readState()).toMatchObject({ is_used: true, isWarned: false })
  })

  test('is replaced by the primary while it is stopped, also in the middle of its use', async () => {
    standby.halt()
    expect((await listIds()).length).toBe(2)
    expect(await countRequests()).toBe(2)
    expect((await server.call('GET', '/datasets/rankings-daily')).status).toBe(200)
    expect(takeCounts()).toEqual({ reads: 0, fallbacks: 3 })
    expect(await readState()).toMatchObject({ is_used: false, lag_seconds: null, isWarned: true })
    const { body } = await server.gateway.metrics.render()
    expect(body).toContain('headgate_replica_up 0')
    expect(body).toContain('headgate_replica_lag_seconds NaN')

    standby.start()
    await catchUp()
    takeCounts()
    expect((await listIds()).length).toBe(2)
    expect(takeCounts()).toEqual({ reads: 1, fallbacks: 0 })
  })

  test('fails in the middle of a read, which the primary repeats', async () => {
    const { db } = server.gateway
    const endConnection = sql`select pg_terminate_backend(pg_backend_pid())`
    const read = async (from: Db) => (from === db ? 'primary' : endConnection.execute(from))
    expect(await replica().readOr(db, read)).toBe('primary')
    expect(takeCounts()).toEqual({ reads: 0, fallbacks: 1 })
    await catchUp()
    const rejecting = replica().readOr(db, () => Promise.reject(new Error('too many groups')))
    await expect(rejecting).rejects.toThrow('too many groups')
  })

  test('is never used if it is another database', async () => {
    const other = await createDatabase()
    const stranger = await startTestServer('postgres', {
      environment: { DATABASE_URL: other.url, DATABASE_REPLICA_URL: standby.url },
    })
    await sendHeartbeat(stranger.gateway)
    const { body } = await stranger.call('GET', '/generations')
    expect(body.data).toEqual([])
    expect(stranger.gateway.replica!.status).toMatchObject({ reads: 0, fallbacks: 1 })
    await stranger.stop()
    await other.drop()
  })
})
