import { describe, expect, test } from 'bun:test'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { SQL } from 'bun'
import { sql } from 'kysely'
import { openDb } from '../../src/platform/db/db.ts'
import { databaseKinds, startTestServer } from '../support/harness.ts'
import { waitUntil } from '../support/wait-until.ts'

const clients = 16
const losses = 5

/** PostgreSQL closes every connection, as it does when it is restarted or fails over. */
async function dropConnections(databaseUrl: string): Promise<void> {
  const admin = new SQL(databaseUrl, { max: 1 })
  await admin`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`
  await admin.close({ timeout: 1 })
}

describe.if(databaseKinds.includes('postgres'))('a database that drops its connections', () => {
  test('R21 R24 I8 I12 requests in flight are served, none is rejected, and service returns', async () => {
    const server = await startTestServer('postgres')
    const counts = new Map<number, number>()
    let running = true
    const client = async () => {
      while (running) {
        const response = await fetch(`${server.url}/api/v1/keys`, {
          headers: { authorization: `Bearer ${server.own.managementKey}` },
          signal: AbortSignal.timeout(20_000),
        })
        await response.text()
        counts.set(response.status, (counts.get(response.status) ?? 0) + 1)
      }
    }
    const waitForReplies = () => {
      const before = counts.get(200) ?? 0
      return waitUntil(() => (counts.get(200) ?? 0) >= before + 2 * clients)
    }
    const work = Promise.all(Array.from({ length: clients }, client))
    for (let loss = 0; loss < losses; loss++) {
      await waitForReplies()
      await dropConnections(server.gateway.config.databaseUrl)
    }
    await waitForReplies()
    running = false
    await work
    expect([...counts.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(counts.get(200)).toBeGreaterThan(clients)
    for (let i = 0; i < clients; i++) expect((await server.call('GET', '/keys')).status).toBe(200)
    const changed = await server.call('POST', '/keys', { body: { name: 'after the loss' } })
    expect(changed.status).toBe(201)
    await server.stop()
  }, 60_000)

  test('R24 a database that stops responding times out in bounded time, and is used again once it responds', async () => {
    const server = await startTestServer('postgres')
    const proxy = await silenceableProxy(server.gateway.config.databaseUrl)
    const db = openDb(proxy.url, { queryTimeoutMs: 300 })
    const query = () =>
      sql<{ one: number }>`select 1 as one`.execute(db).then((result) => result.rows[0]?.one)
    expect(await query()).toBe(1)
    proxy.silent = true
    const messages = await Promise.all(
      Array.from({ length: 30 }, () => query().catch((error: Error) => error.message)),
    )
    expect(new Set(messages)).toEqual(new Set(['the database does not respond']))
    proxy.silent = false
    let recovered: unknown
    for (let i = 0; i < 50 && recovered !== 1; i++) recovered = await query().catch(() => undefined)
    expect(recovered).toBe(1)
    await db.destroy()
    proxy.close()
    await server.stop()
  }, 60_000)
})

/** A proxy that can drop all bytes: a network that loses packets closes no connection. */
async function silenceableProxy(databaseUrl: string) {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const state = { silent: false, url: '', close: () => undefined as unknown }
  const listener = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => {
        if (!state.silent) to.write(chunk)
      })
      from.on('error', () => undefined)
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`
  state.url = url.href
  state.close = () => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  }
  return state
}
