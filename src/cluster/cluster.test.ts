import { afterAll, describe, expect, test } from 'bun:test'
import { pino } from 'pino'
import { hasValkey, newRedisConfig } from '../../test/support/valkey.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import { Peer } from '../platform/process/peer.ts'
import type { Cluster, WindowRule } from './cluster.ts'
import { type ClusterHost, createClusterHost } from './host.ts'
import { MemoryCluster, SharedMemory } from './memory.ts'
import { ValkeyCluster } from './valkey.ts'
import { WorkerCluster } from './worker.ts'

const log = pino({ level: 'silent' })
const at = 1_800_000_000_000
const minute = 60_000

type OpenNodes = (count: number) => Promise<Cluster[]>

const openNodes: Record<string, OpenNodes> = {
  memory: async (count) => {
    const memory = new SharedMemory()
    return Array.from({ length: count }, () => new MemoryCluster(memory))
  },
  workers: async (count) => {
    const memory = new SharedMemory()
    return Array.from({ length: count }, () => openWorker(memory, count).cluster)
  },
  ...(hasValkey && { valkey: openValkeyNodes }),
}

/** A worker and its host, which exchange copies of messages, later. */
function openWorker(memory: SharedMemory, workers: number, isReady: Promise<unknown> = Promise.resolve()) {
  const transfer = (receive: (message: unknown) => void) => (message: unknown) => {
    const copy = structuredClone(message)
    setImmediate(() => void isReady.then(() => receive(copy)))
  }
  const worker = new Peer<ClusterHost>(
    transfer((message) => supervisor.receive(message)),
    {},
  )
  const cluster = new WorkerCluster({ host: worker, workers, log })
  const { host, close } = createClusterHost(memory, (...args) => cluster.receive(...args))
  const supervisor = new Peer(
    transfer((message) => worker.receive(message)),
    host,
  )
  const end = async () => {
    await close()
    worker.close()
  }
  return { cluster: Object.assign(cluster, { close: end }), end }
}

async function openValkeyNodes(count: number): Promise<Cluster[]> {
  const config = newRedisConfig()
  const nodes = Array.from(
    { length: count },
    () => new ValkeyCluster(config, { log, liveNodes: () => count }),
  )
  await Promise.all(nodes.map((node) => node.open()))
  return nodes
}

describe.each(Object.keys(openNodes))('on %s', (kind) => {
  const opened: Cluster[] = []
  afterAll(() => Promise.all(opened.map((node) => node.close())))

  async function open(): Promise<[Cluster, Cluster]> {
    const [a, b] = await openNodes[kind]!(2)
    opened.push(a!, b!)
    return [a!, b!]
  }

  const fixed = (limit: number): WindowRule => ({ limit, windowMs: minute, kind: 'fixed' })
  const sliding = (limit: number): WindowRule => ({ limit, windowMs: minute, kind: 'sliding' })

  test('R16 nodes that take at the same time take exactly the limit together', async () => {
    const nodes = await open()
    const takes = await Promise.all(
      Array.from({ length: 100 }, (_, count) => nodes[count % 2]!.take('key', 1, fixed(37), at)),
    )
    expect(takes.filter(({ isTaken }) => isTaken)).toHaveLength(37)
  })

  test('an amount that does not fit is not counted, and a smaller one still fits', async () => {
    const [a, b] = await open()
    expect(await a.take('tokens', 60, fixed(100), at)).toMatchObject({ isTaken: true, used: 60 })
    expect(await b.take('tokens', 50, fixed(100), at)).toMatchObject({ isTaken: false, used: 60 })
    expect(await b.take('tokens', 40, fixed(100), at)).toMatchObject({ isTaken: true, used: 100 })
    expect(await a.take('others', 100, fixed(100), at)).toMatchObject({ isTaken: true })
  })

  test('a fixed window begins at a multiple of its length', async () => {
    const [a] = await open()
    await a.take('w', 5, fixed(5), at + minute - 1)
    expect(await a.take('w', 1, fixed(5), at + minute - 1)).toMatchObject({ isTaken: false, windowStart: at })
    expect(await a.take('w', 5, fixed(5), at + minute)).toMatchObject({
      isTaken: true,
      windowStart: at + minute,
    })
  })

  test('a sliding window counts a share of the one before', async () => {
    const [a] = await open()
    await a.take('w', 100, sliding(100), at)
    expect(await a.take('w', 1, sliding(100), at + minute)).toMatchObject({ isTaken: false, used: 100 })
    expect(await a.take('w', 25, sliding(100), at + minute + minute / 4)).toMatchObject({ isTaken: true })
    expect(await a.take('w', 1, sliding(100), at + minute + minute / 4)).toMatchObject({ isTaken: false })
    expect(await a.take('w', 100, sliding(100), at + 3 * minute)).toMatchObject({ isTaken: true, used: 100 })
  })

  test('what is refunded can be taken again, only in its own window', async () => {
    const [a, b] = await open()
    const take = await a.take('w', 80, fixed(100), at)
    await b.refund('w', 50, take, minute)
    expect(await b.take('w', 70, fixed(100), at)).toMatchObject({ isTaken: true, used: 100 })
    await b.take('w', 100, fixed(100), at + minute)
    await a.refund('w', 30, take, minute)
    expect(await a.take('w', 1, fixed(100), at + minute)).toMatchObject({ isTaken: false, used: 100 })
  })

  test('what is refunded after its window counts less in the next one, if that slides', async () => {
    const [a, b] = await open()
    const take = await a.take('w', 100, sliding(100), at)
    expect(await b.take('w', 1, sliding(100), at + minute)).toMatchObject({ isTaken: false })
    await b.take('w', 0, sliding(100), at + minute)
    await b.refund('w', 60, take, minute)
    expect(await a.take('w', 60, sliding(100), at + minute)).toMatchObject({ isTaken: true, used: 100 })
    expect(await a.take('w', 1, sliding(100), at + minute)).toMatchObject({ isTaken: false })
  })

  test('slots are never occupied by more than the limit, and free once released', async () => {
    const [a, b] = await open()
    expect(await a.acquire('s', 4)).toBe(true)
    const acquired = await Promise.all(
      Array.from({ length: 10 }, (_, count) => (count % 2 ? a : b).acquire('s', 4)),
    )
    expect(acquired.filter(Boolean)).toHaveLength(3)
    a.release('s')
    await waitUntil(async () => b.acquire('s', 4))
    expect(await a.acquire('s', 4)).toBe(false)
  })

  test('a node that closes frees its slots', async () => {
    const [a, b] = await open()
    expect(await a.acquire('s', 1)).toBe(true)
    expect(await b.acquire('s', 1)).toBe(false)
    await a.close()
    expect(await b.acquire('s', 1)).toBe(true)
  })

  test('a value is seen by other nodes, replaced only by who knows it, and expires', async () => {
    const [a, b] = await open()
    expect(await a.compareAndSet('v', null, 'one', minute)).toBe(true)
    expect(await b.get('v')).toBe('one')
    expect(await b.compareAndSet('v', null, 'two', minute)).toBe(false)
    expect(await b.compareAndSet('v', 'one', 'zwei – 二', minute)).toBe(true)
    expect(await a.get('v')).toBe('zwei – 二')
    await a.delete('v')
    expect(await b.get('v')).toBeNull()
    await a.set('v', 'short', 1)
    await waitUntil(async () => (await b.get('v')) === null)
  })

  test('a message reaches the other nodes and not its sender', async () => {
    const [a, b] = await open()
    const received: string[] = []
    a.subscribe('news', (message) => received.push(`a ${message}`))
    b.subscribe('news', (message) => received.push(`b ${message}`))
    b.subscribe('other', (message) => received.push(`other ${message}`))
    await waitUntil(() => {
      if (received.length === 0) a.publish('news', 'first one')
      return received.length > 0
    })
    expect(new Set(received)).toEqual(new Set(['b first one']))
  })

  test('a lease has one holder, and each a higher fencing number than the last', async () => {
    const [a, b] = await open()
    const first = (await a.lease('job', minute))!
    expect(await b.lease('job', minute)).toBeNull()
    expect(await first.renew()).toBe(true)
    await first.release()
    const second = (await b.lease('job', 1))!
    expect(second.fence).toBeGreaterThan(first.fence)
    await waitUntil(async () => !(await second.renew()))
    const third = (await a.lease('job', minute))!
    expect(third.fence).toBeGreaterThan(second.fence)
    await second.release()
    expect([await second.renew(), await third.renew()]).toEqual([false, true])
  })
})

test('R16 workers whose host has ended admit their share, at least one, and go on from what they took', async () => {
  const { cluster, end } = openWorker(new SharedMemory(), 2)
  const rule: WindowRule = { limit: 10, windowMs: minute, kind: 'fixed' }
  const take = () => cluster.take('key', 1, rule, at).then(({ isTaken }) => isTaken)
  for (let count = 0; count < 3; count++) expect(await take()).toBe(true)
  await end()
  expect([await take(), await take(), await take()]).toEqual([true, true, false])
  expect((await cluster.take('small', 1, { ...rule, limit: 1 }, at)).isTaken).toBe(true)
  expect([
    await cluster.acquire('s', 4),
    await cluster.acquire('s', 4),
    await cluster.acquire('s', 4),
  ]).toEqual([true, true, false])
  expect([await cluster.get('v'), await cluster.lease('job', minute)]).toEqual([null, null])
  expect(await cluster.compareAndSet('v', null, 'one', minute)).toBe(false)
  expect(cluster.status.fallbacks).toBeGreaterThan(8)
})

test('R16 a slot whose answer came too late is occupied once, and free when it is released', async () => {
  const memory = new SharedMemory()
  const paused = Promise.withResolvers<void>()
  const { cluster } = openWorker(memory, 2, paused.promise)
  // Only the first is within the share of this worker.
  expect(await Promise.all([cluster.acquire('s', 2), cluster.acquire('s', 2)])).toEqual([true, false])
  paused.resolve()
  await waitUntil(() => memory.slots.get('s') === 1)
  cluster.release('s')
  await waitUntil(() => !memory.slots.has('s'))
})

test('the oldest values leave a memory that is full', () => {
  const cluster = new MemoryCluster()
  const value = 'x'.repeat(1024 * 1024)
  for (let count = 0; count < 65; count++) cluster.set(`v${count}`, value, minute)
  expect([cluster.get('v0'), cluster.get('v1')?.length]).toEqual([null, value.length])
})
