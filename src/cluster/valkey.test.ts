import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { pino } from 'pino'
import { loopbackCert as cert, loopbackKey as key } from '../../test/support/certificate.ts'
import { findFreePort, hasValkey, newRedisConfig, TestValkey } from '../../test/support/valkey.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import type { WindowRule } from './cluster.ts'
import { ValkeyLink } from './link.ts'
import { SlotCounts } from './slot-counts.ts'
import { ValkeyCluster } from './valkey.ts'

const log = pino({ level: 'silent' })
const at = 1_800_000_000_000
const rule: WindowRule = { limit: 10, windowMs: 60_000, kind: 'fixed' }

/** Functions that end what a test has started. */
const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function startServer(...options: string[]): Promise<TestValkey> {
  const server = await TestValkey.start(...options)
  endings.push(() => server.stop())
  return server
}

async function openCluster(
  url: string,
  overrides: Record<string, string> = {},
  nodes = 2,
): Promise<ValkeyCluster> {
  const config = newRedisConfig({ REDIS_URL: url, ...overrides })
  const cluster = new ValkeyCluster(config, { log, liveNodes: () => nodes })
  endings.push(() => cluster.close())
  await cluster.open()
  return cluster
}

async function countTaken(cluster: ValkeyCluster, times: number, name = 'key'): Promise<number> {
  const takes = await Promise.all(Array.from({ length: times }, () => cluster.take(name, 1, rule, at)))
  return takes.filter(({ isTaken }) => isTaken).length
}

describe.skipIf(!hasValkey)('a server that is away', () => {
  test('each node takes its share of a limit, less what it took before, and shares again afterwards', async () => {
    const server = await startServer()
    const cluster = await openCluster(server.url)
    expect(await countTaken(cluster, 2)).toBe(2)
    await server.stop()
    await waitUntil(() => !cluster.status.isConnected)
    expect([await countTaken(cluster, 20), await countTaken(cluster, 20, 'other')]).toEqual([3, 5])
    await server.restart()
    await waitUntil(() => cluster.status.isConnected)
    expect(await countTaken(cluster, 20)).toBe(10)
    expect(cluster.status.fallbacks).toBe(40)
  })

  test('operations have their fallback at once', async () => {
    const server = await startServer()
    const cluster = await openCluster(server.url, {}, 4)
    await server.stop()
    await waitUntil(() => !cluster.status.isConnected)
    const { operations } = cluster.status
    expect(await cluster.get('v')).toBeNull()
    await cluster.set('v', 'value', 1000)
    expect(await cluster.compareAndSet('v', null, 'value', 1000)).toBe(false)
    expect(await cluster.lease('job', 1000)).toBeNull()
    cluster.publish('news', 'lost')
    expect([cluster.acquire('s', 8), cluster.acquire('s', 8), cluster.acquire('s', 8)]).toEqual([
      true,
      true,
      false,
    ])
    expect(cluster.status.operations).toBe(operations)
  })

  test('a node that was started without it finds it later, and hears that messages may be missing', async () => {
    const server = await startServer()
    await server.stop()
    const cluster = await openCluster(server.url, { REDIS_PREFIX: 'own' })
    expect(cluster.status.isConnected).toBe(false)
    const received: string[] = []
    cluster.subscribe('news', (message) => received.push(message))
    const { promise, resolve } = Promise.withResolvers<void>()
    cluster.onReconnect(resolve)
    await server.restart()
    await promise
    const other = await openCluster(server.url, { REDIS_PREFIX: 'own' })
    other.publish('news', 'hello')
    await waitUntil(() => received.length > 0)
    expect(received).toEqual(['hello'])
  })

  test('a frozen server delays an operation by its time limit, and later ones not at all', async () => {
    const server = await startServer()
    const cluster = await openCluster(server.url, { REDIS_TIMEOUT_MS: '20' })
    server.freeze()
    expect(await countTaken(cluster, 20)).toBe(5)
    expect(cluster.status).toMatchObject({ isConnected: false })
    expect(cluster.status.timeouts).toBeGreaterThan(0)
    const { operations } = cluster.status
    expect(cluster.take('key', 1, rule, at)).toMatchObject({ isTaken: false })
    expect(cluster.status.operations).toBe(operations)
    server.resume()
    await waitUntil(() => cluster.status.isConnected)
  })

  test('what a replaced connection rejects does not count against the next one', async () => {
    const server = await startServer()
    const cluster = await openCluster(server.url, { REDIS_TIMEOUT_MS: '20' })
    const fail = (times: number) => Promise.all(Array.from({ length: times }, () => cluster.get('v')))
    server.freeze()
    await fail(20)
    expect(cluster.status.isConnected).toBe(false)
    server.resume()
    await waitUntil(() => cluster.status.isConnected)
    server.freeze()
    await fail(2)
    expect(cluster.status.isConnected).toBe(true)
    server.resume()
  })

  test('operations beyond a thousand in flight are not sent', async () => {
    const server = await startServer()
    const cluster = await openCluster(server.url)
    const { operations } = cluster.status
    server.freeze()
    const values = Promise.all(Array.from({ length: 1500 }, () => cluster.get('v')))
    expect(cluster.status.operations - operations).toBe(1000)
    server.resume()
    expect((await values).every((value) => value === null)).toBe(true)
  })

  test('a server that has lost its data and its scripts is used on, and slots in use are counted again', async () => {
    const server = await startServer()
    const cluster = await openCluster(server.url)
    expect(await cluster.acquire('s', 2)).toBe(true)
    const before = (await cluster.lease('job', 60_000))!
    await server.send('FLUSHALL')
    await server.send('SCRIPT', 'FLUSH')
    expect(await countTaken(cluster, 20)).toBe(10)
    const after = (await cluster.lease('job', 60_000))!
    expect(after.fence).toBeGreaterThan(before.fence)
    expect(await before.renew()).toBe(false)
    expect(cluster.status).toMatchObject({ isConnected: true, errors: 0, fallbacks: 0 })
  })

  test('a node renews the slots of any number of names', async () => {
    const server = await startServer()
    const config = newRedisConfig({ REDIS_URL: server.url })
    const link = new ValkeyLink(config, log)
    endings.push(() => link.close())
    await link.open()
    const slots = new SlotCounts(link, 'node', (name) => `own:${name}`)
    endings.push(() => slots.close())
    const names = Array.from({ length: 1500 }, (_, index) => String(index))
    for (const name of names) expect(await slots.acquire(name, 1, 1)).toBe(true)
    await server.send('FLUSHALL')
    await slots.renew()
    expect(Number(await server.send('DBSIZE'))).toBe(names.length)
  })

  test('slots that are not renewed are free after 15 seconds', async () => {
    const server = await startServer()
    const config = newRedisConfig({ REDIS_URL: server.url })
    const link = new ValkeyLink(config, log)
    endings.push(() => link.close())
    await link.open()
    const slotsOf = (node: string) => {
      const slots = new SlotCounts(link, node, (name) => `own:${name}`)
      endings.push(() => slots.close())
      return slots
    }
    expect(await slotsOf('dead').acquire('s', 1, 1)).toBe(true)
    const ttl = Number(await server.send('PTTL', 'own:s'))
    expect(ttl > 0 && ttl <= 15_000).toBe(true)
    // As if 15 seconds had passed.
    const [count] = String(await server.send('HGET', 'own:s', 'dead')).split(' ')
    await server.send('HSET', 'own:s', 'dead', `${count} ${Date.now() - 1}`)
    expect(await slotsOf('alive').acquire('s', 1, 1)).toBe(true)
    expect(await server.send('HGET', 'own:s', 'dead')).toBeNull()
  })

  test('a server that cannot store counts as away', async () => {
    const server = await startServer('--min-replicas-to-write', '0')
    const cluster = await openCluster(server.url)
    await server.send('CONFIG', 'SET', 'min-replicas-to-write', '1')
    for (let count = 0; count < 3; count++) await cluster.take('key', 1, rule, at)
    expect(cluster.status).toMatchObject({ isConnected: false, errors: 3 })
    await server.send('CONFIG', 'SET', 'min-replicas-to-write', '0')
    await waitUntil(() => cluster.status.isConnected)
  })
})

describe.skipIf(!hasValkey)('connections', () => {
  test('an ACL user that may use the keys and channels of the prefix', async () => {
    const server = await startServer()
    const cluster = await openCluster(server.url, { REDIS_PREFIX: 'own' })
    await server.send('ACL', 'SETUSER', 'app', 'on', '>p@ss', '~own:*', '&own:*', '+@all', '-@dangerous')
    const url = `redis://app:p%40ss@127.0.0.1:${server.port}`
    const limited = await openCluster(url, { REDIS_PREFIX: 'own' })
    expect([await countTaken(limited, 6), await countTaken(cluster, 20)]).toEqual([6, 4])
    const foreign = await openCluster(url, { REDIS_PREFIX: 'other' })
    expect(foreign.status.isConnected).toBe(false)
  })

  test('TLS, with the authority of REDIS_CA_FILE', async () => {
    const server = await startServer()
    const folder = mkdtempSync(join(tmpdir(), 'headgate-ca-'))
    endings.push(() => rmSync(folder, { recursive: true }))
    const caFile = join(folder, 'ca.pem')
    writeFileSync(caFile, cert)
    const proxy = createServer({ cert, key }, (socket) => {
      const upstream = connect(server.port, '127.0.0.1')
      socket.pipe(upstream).pipe(socket)
      socket.on('error', () => upstream.destroy())
      upstream.on('error', () => socket.destroy())
    })
    const port = findFreePort()
    await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve))
    endings.push(() => void proxy.close())
    const url = `rediss://127.0.0.1:${port}`
    expect((await openCluster(url)).status.isConnected).toBe(false)
    const trusted = await openCluster(url, { REDIS_CA_FILE: caFile })
    expect(await countTaken(trusted, 20)).toBe(10)
    expect(trusted.status.fallbacks).toBe(0)
  })

  test('Sentinel: the primary is found by its name, and a new one after a failover', async () => {
    const primary = await startServer()
    const replica = await startServer('--replicaof', '127.0.0.1', String(primary.port))
    const folder = mkdtempSync(join(tmpdir(), 'headgate-sentinel-'))
    endings.push(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'sentinel.conf')
    writeFileSync(
      file,
      `sentinel monitor main 127.0.0.1 ${primary.port} 1\nsentinel down-after-milliseconds main 500\n`,
    )
    const sentinel = await TestValkey.startSentinel(file)
    endings.push(() => sentinel.stop())
    const cluster = await openCluster(`redis://127.0.0.1:1,127.0.0.1:${sentinel.port}?sentinel=main`)
    expect(await countTaken(cluster, 20)).toBe(10)
    expect(cluster.status.fallbacks).toBe(0)
    await waitUntil(async () =>
      JSON.stringify(await sentinel.send('SENTINEL', 'REPLICAS', 'main')).includes(String(replica.port)),
    )
    await primary.stop()
    await waitUntil(() => isPrimary(replica))
    await waitUntil(() => cluster.status.isConnected)
    const { fallbacks } = cluster.status
    expect(await countTaken(cluster, 20, 'after')).toBe(10)
    expect(cluster.status.fallbacks).toBe(fallbacks)
  })

  test('Cluster: keys are on the nodes of their slots, and messages reach every node', async () => {
    const options = ['--cluster-enabled', 'yes', '--cluster-config-file']
    const folder = mkdtempSync(join(tmpdir(), 'headgate-slots-'))
    endings.push(() => rmSync(folder, { recursive: true }))
    const servers: TestValkey[] = []
    for (const name of ['a', 'b', 'c']) servers.push(await startServer(...options, join(folder, name)))
    const slots = [
      ['0', '5460'],
      ['5461', '10922'],
      ['10923', '16383'],
    ]
    for (const [index, server] of servers.entries())
      await server.send('CLUSTER', 'ADDSLOTSRANGE', ...slots[index]!)
    for (const server of servers.slice(1))
      await server.send('CLUSTER', 'MEET', '127.0.0.1', String(servers[0]!.port))
    for (const server of servers)
      await waitUntil(async () => String(await server.send('CLUSTER', 'INFO')).includes('cluster_state:ok'))
    const url = `redis://127.0.0.1:${servers[0]!.port}?mode=cluster`
    const [a, b] = [
      await openCluster(url, { REDIS_PREFIX: 'own' }),
      await openCluster(url, { REDIS_PREFIX: 'own' }),
    ]
    const taken = await Promise.all(Array.from({ length: 30 }, (_, name) => countTaken(a, 11, `key ${name}`)))
    expect(taken).toEqual(Array(30).fill(10))
    for (const server of servers) expect(Number(await server.send('DBSIZE'))).toBeGreaterThan(0)
    const received: string[] = []
    b.subscribe('news', (message) => received.push(message))
    await waitUntil(() => {
      if (received.length === 0) a.publish('news', 'hello')
      return received.length > 0
    })
    expect([a.status.fallbacks, b.status.fallbacks]).toEqual([0, 0])
  })
})

/** A server closes its connections while it changes its role. */
async function isPrimary(server: TestValkey): Promise<boolean> {
  const role = await server.send('ROLE').catch(() => null)
  return JSON.stringify(role).includes('master')
}
