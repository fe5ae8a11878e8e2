import { describe, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseKinds } from '../../test/support/harness.ts'
import { requestHolds } from '../../test/support/holds.ts'
import { now, useLeaseScene } from '../../test/support/lease-scene.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import type { BatchConnection } from '../platform/db/batch.ts'
import { PostgresBatchConnection } from '../platform/db/postgres-batch.ts'
import type { AdmitOperation } from './engine.ts'
import type { JournalLine } from './journal-line.ts'
import { LeaseTakeover } from './lease-takeover.ts'
import { processTime } from './lease-time.ts'
import type { LeasedEngine } from './leased-engine.ts'
import { NodeJournal } from './node-journal.ts'

/** A journal whose disk takes nothing while it is full. */
class FullJournal extends NodeJournal {
  isFull = false

  override append(lines: readonly JournalLine[]): void {
    if (this.isFull) throw new Error('no space left on device')
    super.append(lines)
  }
}

/** Rounds are written when a test flushes. */
const manualTime = { ...processTime, setTimer: () => () => undefined }

const newFolder = () => mkdtempSync(join(tmpdir(), 'headgate-loss-'))

describe.if(databaseKinds.includes('postgres'))('what a node that fails leaves (postgres)', () => {
  const scene = useLeaseScene()

  const findHolds = (id: string) =>
    requestHolds(scene().db).select(['owner', 'amount_nanos']).where('id', '=', id).execute()

  async function takeOver(): Promise<void> {
    let time = 0
    const takeover = new LeaseTakeover(scene().connect(), 'other', { ...processTime, now: () => time })
    let taken = 0
    for (; time <= 14_000; time += 2000) taken += await takeover.run(now)
    expect(taken).toBeGreaterThan(0)
  }

  test('R1 a request that is accepted while the disk of the journal is full has a row', async () => {
    const journal = new FullJournal(newFolder())
    const engine = scene().openEngine({ journal })
    await scene().admitWithinLease(engine)
    journal.isFull = true
    const op = scene().buildAdmission()
    const { results } = await engine.run([op], now)
    expect(results).toEqual([null])
    expect(await findHolds(op.request.id)).toEqual([{ owner: 'node', amount_nanos: 10n }])
    journal.isFull = false
    await engine.close()
  })

  test('R7 a settlement that is repeated is acknowledged when it is in the database', async () => {
    const connection = new PostgresBatchConnection(scene().url)
    let isOut = false
    const flaky: BatchConnection = {
      transact: (work) => (isOut ? Promise.reject(new Error('no connection')) : connection.transact(work)),
      close: () => connection.close(),
    }
    const engine = scene().openEngine({ nodeId: 'repeating', connection: flaky, time: manualTime })
    const op = await scene().admitWithinLease(engine, { owner: 'repeating', key: 4 })
    await engine.flush()
    const settlement = scene().buildSettlement(op, 3n)
    isOut = true
    const other = scene().buildAdmission({ owner: 'repeating', key: 5 })
    await expect(Promise.resolve(engine.run([settlement, other], now))).rejects.toThrow('no connection')
    isOut = false
    const { durable } = await engine.run([{ ...settlement, isRetry: true }], now)
    expect(durable).not.toBeNull()
    expect(await findHolds(op.request.id)).toHaveLength(1)
    await engine.flush()
    await durable
    expect(await findHolds(op.request.id)).toEqual([])
    await engine.close()
  })

  test('I4 what is reserved for a node stays until the last of its rounds is written', async () => {
    const connection = new PostgresBatchConnection(scene().url)
    let isOut = false
    const ended: unknown[] = []
    const background: BatchConnection = {
      transact: (work) =>
        isOut
          ? Promise.reject(new Error('no connection'))
          : connection.transact((batch) =>
              work({
                rows: (statements) => batch.rows(statements),
                run: (statements) => {
                  const ends = statements.filter(({ sql }) => sql.startsWith('delete from ledger_journals'))
                  ended.push(...ends.map(({ values }) => values[0]))
                  return batch.run(statements)
                },
              }),
            ),
      close: () => connection.close(),
    }
    const engine = scene().openEngine({ nodeId: 'late', background, time: manualTime })
    const ops = [1, 2].map(() => scene().admitWithinLease(engine, { owner: 'late', key: 6 }))
    const [first, second] = (await Promise.all(ops)) as [AdmitOperation, AdmitOperation]
    await engine.flush()
    const before = await scene().readSpent(6)
    await engine.run([scene().buildSettlement(first, 3n)], now)
    isOut = true
    await expect(Promise.resolve(engine.flush())).rejects.toThrow('no connection')
    await engine.run([scene().buildSettlement(second, 4n)], now)
    await takeOver()
    isOut = false
    await engine.flush()
    expect(await scene().readSpent(6)).toBe(before + 7n)
    expect(ended.length).toBeGreaterThan(0)
    // Each journal ends once.
    expect(new Set(ended).size).toBe(ended.length)
    await engine.close()
  })

  async function loseLeases(engine: LeasedEngine, owner: string, key: number) {
    const op = await scene().admitWithinLease(engine, { owner, key })
    await takeOver()
    await engine.flush()
    expect(await scene().leases(owner)).toEqual([])
    return op
  }

  test('R1 I2 a request in progress whose lease was taken over has a row, and is settled once', async () => {
    const engine = scene().openEngine({ nodeId: 'paused', time: manualTime })
    const op = await loseLeases(engine, 'paused', 2)
    expect(await findHolds(op.request.id)).toEqual([{ owner: 'paused', amount_nanos: 0n }])
    const before = await scene().readSpent(2)
    const { results, durable } = await engine.run([scene().buildSettlement(op, 4n)], now)
    await durable
    expect(results).toEqual([null])
    expect(await findHolds(op.request.id)).toEqual([])
    expect(await scene().readSpent(2)).toBe(before + 4n)
    await engine.close()
    expect(await scene().findViolations()).toEqual([])
  })

  test('R2 I2 a request that ends while the loss of its lease is being recorded is settled once', async () => {
    const connection = new PostgresBatchConnection(scene().url)
    const lost = Promise.withResolvers<void>()
    const settled = Promise.withResolvers<void>()
    const background: BatchConnection = {
      // After the first failure, which is the loss, nothing is written for a while.
      transact: async (work) => {
        if (isLost) await settled.promise
        return connection.transact(work).catch((error: unknown) => {
          isLost = true
          lost.resolve()
          throw error
        })
      },
      close: () => connection.close(),
    }
    let isLost = false
    const engine = scene().openEngine({ nodeId: 'ending', time: manualTime, background })
    const op = await scene().admitWithinLease(engine, { owner: 'ending', key: 3 })
    await takeOver()
    const before = await scene().readSpent(3)
    const flushed = engine.flush()
    await lost.promise
    await waitUntil(() => engine.leases.count === 0)
    const settling = engine.run([scene().buildSettlement(op, 4n)], now)
    settled.resolve()
    await flushed
    const { results, durable } = await settling
    await durable
    expect(results).toEqual([null])
    expect(await findHolds(op.request.id)).toEqual([])
    expect(await scene().readSpent(3)).toBe(before + 4n)
    await engine.close()
    expect(await scene().findViolations()).toEqual([])
  })
})
