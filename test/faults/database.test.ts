import { describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { databaseKinds, startTestServer } from '../support/harness.ts'

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
  test('R21 R24 I8 I12 requests in flight are answered, none with a refusal, and service returns', async () => {
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
    const work = Promise.all(Array.from({ length: clients }, client))
    for (let loss = 0; loss < losses; loss++) {
      await Bun.sleep(200)
      await dropConnections(server.gateway.config.databaseUrl)
    }
    await Bun.sleep(500)
    running = false
    await work
    expect([...counts.keys()].filter((status) => status !== 200 && status !== 500)).toEqual([])
    expect(counts.get(200)).toBeGreaterThan(clients)
    for (let i = 0; i < clients; i++) expect((await server.call('GET', '/keys')).status).toBe(200)
    const changed = await server.call('POST', '/keys', { body: { name: 'after the loss' } })
    expect(changed.status).toBe(201)
    await server.stop()
  }, 60_000)
})
