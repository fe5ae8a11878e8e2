import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds } from '../../test/support/harness.ts'
import { now, useLeaseScene } from '../../test/support/lease-scene.ts'
import type { Settlement } from './engine.ts'
import { LeaseTakeover } from './lease-takeover.ts'
import { processTime } from './lease-time.ts'
import type { LeasedEngine } from './leased-engine.ts'

describe.if(databaseKinds.includes('postgres'))('an engine with leases (postgres)', () => {
  const scene = useLeaseScene()
  let engine: LeasedEngine

  beforeAll(() => {
    engine = scene().openEngine()
  })

  afterAll(() => engine.close())

  async function expectSound(spent: bigint): Promise<void> {
    await engine.flush()
    await scene().expectSound(spent)
  }

  test('R2 I2 a settlement that the database rejects keeps none of its round from being written once', async () => {
    const admit = () => scene().admitWithinLease(engine)
    const requests = [await admit(), await admit(), await admit()]
    await engine.flush()
    const before = await scene().readSpent()
    const [first, second, third] = requests.map((op) => scene().buildSettlement(op, 5n)) as [
      Settlement,
      Settlement,
      Settlement,
    ]
    const broken = { sql: 'insert into no_such_table (id) values ($1)', values: ['x'] }
    const outcome = await engine.run([first, { ...second, extraStatements: [broken] }, third], now)
    await outcome.durable
    await expectSound(before + 15n)
  })

  test('R7 a settlement that was carried out is not carried out again when its batch is repeated', async () => {
    const op = await scene().admitWithinLease(engine)
    await engine.flush()
    const before = await scene().readSpent()
    const settlement = scene().buildSettlement(op, 7n)
    await (await engine.run([settlement], now)).durable
    await (await engine.run([{ ...settlement, isRetry: true }], now)).durable
    await expectSound(before + 7n)
    await (await engine.run([{ ...settlement, isRetry: true }], now)).durable
    await expectSound(before + 7n)
  })

  test('R2 I4 the leases of a silent node are taken over, its allowance stays, and one without leases is let be', async () => {
    // Without timers, it renews nothing.
    const silent = scene().openEngine({
      nodeId: 'silent',
      time: { ...processTime, setTimer: () => () => undefined },
    })
    const request = scene().buildAdmission({ amount: 100n, owner: 'silent' })
    await silent.run([request], now)
    await (await silent.run([scene().buildSettlement(request, 1n)], now)).durable
    await silent.flush()
    let time = 0
    const takeover = new LeaseTakeover(scene().connect(), 'other', { ...processTime, now: () => time })
    const held = (await scene().leases('silent'))[0]?.amount_nanos ?? 0n
    expect(held).toBeGreaterThan(0n)
    let taken = 0
    for (; time <= 14_000; time += 2000) taken += await takeover.run(now)
    expect(taken).toBeGreaterThan(0)
    expect(await scene().leases('silent')).toEqual([])
    const allowances = await scene().allowances()
    expect(allowances.map(({ amount_nanos }) => amount_nanos)).toContain(held / 4n)
    await silent.close()
    // It has released what was reserved for it.
    expect((await scene().allowances()).filter(({ amount_nanos }) => amount_nanos === held / 4n)).toEqual([])
    expect(await takeover.run(now)).toBe(0)
  })
})
