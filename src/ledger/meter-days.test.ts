import { describe, expect, test } from 'bun:test'
import type { KyselyPlugin } from 'kysely'
import { databaseKinds } from '../../test/support/harness.ts'
import { now, useLeaseScene } from '../../test/support/lease-scene.ts'
import { utcDay } from '../platform/time/time.ts'
import { loadMetersForDay } from './meter-days.ts'

describe.if(databaseKinds.includes('postgres'))('meters as the API shows them (postgres)', () => {
  const scene = useLeaseScene()

  /** Runs work between the first statement of a connection and the next one. */
  function afterFirstStatement(work: () => Promise<unknown>): KyselyPlugin {
    let isFirst = true
    return {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        if (isFirst) await work()
        isFirst = false
        return result
      },
    }
  }

  test('what requests hold is exact while leases are returned', async () => {
    const engine = scene().openEngine()
    const open = await scene().admitWithinLease(engine, { amount: 30n })
    await engine.flush()
    const readHeld = async (db = scene().db) =>
      (await loadMetersForDay(db, ['key:1', 'key:2', 'organization:one'], utcDay(Date.parse(now)))).map(
        ({ held }) => [held.total, held.day],
      )
    const held = [
      [30n, 30n],
      [0n, 0n],
      [30n, 30n],
    ]
    expect(await readHeld()).toEqual(held)
    // Its hold is left to its row, and the lease ends.
    expect(await readHeld(scene().db.withPlugin(afterFirstStatement(() => engine.close())))).toEqual(held)
    expect(await scene().leases('node')).toEqual([])
    expect(await readHeld()).toEqual(held)
    expect(open.request.amount).toBe(30n)
  })

  test('leases on another day count on that day only', async () => {
    const engine = scene().openEngine({ nodeId: 'earlier' })
    await scene().admitWithinLease(engine, { key: 3, owner: 'earlier', amount: 30n })
    await engine.flush()
    const [meter] = await loadMetersForDay(scene().db, ['key:3'], '2030-05-02')
    expect([meter?.held.total, meter?.held.day, meter?.held.week]).toEqual([30n, 0n, 30n])
    await engine.close()
  })
})
