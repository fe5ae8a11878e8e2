import { describe, expect, test } from 'bun:test'
import { databaseKinds } from '../../test/support/harness.ts'
import { now, useLeaseScene } from '../../test/support/lease-scene.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import type { BatchConnection } from '../platform/db/batch.ts'
import { PostgresBatchConnection } from '../platform/db/postgres-batch.ts'
import type { AdmitOperation, OperationResult } from './engine.ts'
import type { RecallChannel } from './lease-recalls.ts'
import { processTime } from './lease-time.ts'
import type { LeasedEngine } from './leased-engine.ts'

const hour = 3_600_000

/** Counts the transactions of a connection. */
function countTransactions(connection: BatchConnection): BatchConnection & { count: number } {
  const counted: BatchConnection & { count: number } = {
    count: 0,
    transact: (work) => {
      counted.count++
      return connection.transact(work)
    },
    close: () => connection.close(),
  }
  return counted
}

describe.if(databaseKinds.includes('postgres'))('recalls of leases (postgres)', () => {
  const scene = useLeaseScene()

  /** The decision on a request, once other nodes have returned what they do not use. */
  async function decide(engine: LeasedEngine, op: AdmitOperation): Promise<OperationResult> {
    let result: OperationResult = 'recalling'
    await waitUntil(async () => {
      result = (await engine.run([op], now)).results[0] ?? null
      return result !== 'recalling'
    })
    return result
  }

  test('I4 a node whose clock is behind has leases of others returned', async () => {
    const behind = { now: () => Date.now() - hour }
    const [holder, other] = [
      scene().openEngine({ nodeId: 'holder' }),
      // It never gives up.
      scene().openEngine({ nodeId: 'behind', clock: behind, time: { ...processTime, now: () => 0 } }),
    ]
    await scene().admitWithinLease(holder, { key: 2, owner: 'holder', budget: 10_000n })
    const rest = scene().buildAdmission({ key: 2, owner: 'behind', budget: 10_000n, amount: 9800n })
    expect(await decide(other, rest)).toBeNull()
    await Promise.all([holder.close(), other.close()])
  })

  test('the subjects of one batch are recalled in one transaction', async () => {
    const holder = scene().openEngine({ nodeId: 'holder' })
    const keys = [3, 4, 5, 6]
    const options = { owner: 'holder', budget: 10_000n }
    for (const key of keys) await scene().admitWithinLease(holder, { ...options, key })
    const background = countTransactions(new PostgresBatchConnection(scene().url))
    const engine = scene().openEngine({
      nodeId: 'other',
      background,
      // Without rounds of its own.
      time: { ...processTime, setTimer: () => () => undefined },
    })
    const ops = keys.map((key) =>
      scene().buildAdmission({ key, owner: 'other', budget: 10_000n, amount: 9800n }),
    )
    const { results } = await engine.run(ops, now)
    expect(results).toEqual(keys.map(() => 'recalling'))
    expect(background.count).toBe(1)
    await Promise.all([holder.close(), engine.close()])
  })

  test('a request that can never fit recalls nothing', async () => {
    const holder = scene().openEngine({ nodeId: 'unneeded' })
    const options = { key: 7, budget: 10_000n }
    await scene().admitWithinLease(holder, { ...options, owner: 'unneeded' })
    const background = countTransactions(new PostgresBatchConnection(scene().url))
    const engine = scene().openEngine({ nodeId: 'other', background })
    const tooLarge = scene().buildAdmission({ ...options, owner: 'other', amount: 10_001n })
    const { results } = await engine.run([tooLarge], now)
    expect(results).toMatchObject([{ reason: 'limit' }])
    expect(background.count).toBe(0)
    expect(await scene().leases('unneeded')).toHaveLength(1)
    await Promise.all([holder.close(), engine.close()])
  })

  test('a message has another node return its leases before it looks at the database', async () => {
    const listeners: ((subjects: readonly string[]) => void)[] = []
    const recallChannel: RecallChannel = {
      publish: (subjects) => {
        for (const listener of listeners) listener(subjects)
      },
      subscribe: (listener) => listeners.push(listener),
    }
    // Without timers, it never looks there.
    const time = { ...processTime, setTimer: () => () => undefined }
    const holder = scene().openEngine({ nodeId: 'told', recallChannel, time })
    const options = { key: 9, budget: 10_000n }
    const held = await scene().admitWithinLease(holder, { ...options, owner: 'told' })
    await holder.run([scene().buildSettlement(held, 1n)], now)
    await holder.flush()
    const engine = scene().openEngine({ nodeId: 'other', recallChannel })
    const rest = scene().buildAdmission({ ...options, owner: 'other', amount: 9800n })
    expect((await engine.run([rest], now)).results).toEqual(['recalling'])
    await holder.flush()
    expect((await engine.run([rest], now)).results).toEqual([null])
    await Promise.all([holder.close(), engine.close()])
  })

  test('R7 what a batch has decided stays decided if leases cannot be recalled', async () => {
    const holder = scene().openEngine({ nodeId: 'holder' })
    const options = { key: 8, budget: 10_000n }
    await scene().admitWithinLease(holder, { ...options, owner: 'holder' })
    const background: BatchConnection = {
      transact: () => Promise.reject(new Error('the connection is lost')),
      close: () => Promise.resolve(),
    }
    const engine = scene().openEngine({ nodeId: 'other', background })
    const fits = scene().buildAdmission({ ...options, owner: 'other' })
    const tooMuch = scene().buildAdmission({ ...options, owner: 'other', amount: 9800n })
    const { results } = await engine.run([fits, tooMuch], now)
    expect(results).toMatchObject([null, { reason: 'limit' }])
    await Promise.all([holder.close(), engine.close()])
  })
})
