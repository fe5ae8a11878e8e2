import { expect, test } from 'bun:test'
import pino from 'pino'
import { insertGeneration } from '../../../test/support/generations.ts'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { ModelSpending } from './spending.ts'

const log = pino({ level: 'silent' })

describeOnEachDatabase('the spending that routers rank by', (server) => {
  test('is that of one organization in seven days, and is read again in the background', async () => {
    const { gateway, own, foreign } = server()
    const { db } = gateway
    const now = gateway.clock.now()
    const { id } = own.organization
    const spending = new ModelSpending()
    const spend = (model: string, cost_nanos: bigint, days: number, tenant = own) =>
      insertGeneration(gateway, tenant, {
        model,
        cost_nanos,
        created_at: new Date(now - days * 86_400_000).toISOString(),
      })
    await spend('a/one', 1000n, 1)
    await spend('a/two', 3000n, 2)
    await spend('a/old', 9000n, 8)
    await spend('a/other', 9000n, 1, foreign)
    const shares = async (at: number) => {
      const figures = await spending.find({ db, log }, id, at)
      return ['a/one', 'a/two', 'a/old', 'a/other'].map((model) => figures?.shareOf(model))
    }
    expect(await shares(now)).toEqual([0.25, 0.75, 0, 0])
    await spend('a/one', 4000n, 1)
    expect(await shares(now + 60_000)).toEqual([0.25, 0.75, 0, 0])
    expect(await shares(now + 11 * 60_000)).toEqual([0.25, 0.75, 0, 0])
    for (let tries = 0; tries < 500 && (await shares(now + 11 * 60_000))[0] === 0.25; tries++)
      await Bun.sleep(2)
    expect(await shares(now + 11 * 60_000)).toEqual([0.625, 0.375, 0, 0])
  })

  test('the price is the average of the endpoints by their traffic, cached tokens included', async () => {
    const { gateway, own } = server()
    const send = (endpoint: string, tokens_input: number, tokens_cache_read: number) =>
      insertGeneration(gateway, own, { model: 'a/priced', endpoint, tokens_input, tokens_cache_read })
    await send('x', 300, 100)
    await send('y', 600, 0)
    const figures = await new ModelSpending().find(
      { db: gateway.db, log },
      own.organization.id,
      gateway.clock.now(),
    )
    const prices = new Map([
      ['x', { prompt: 1, cached: 0 }],
      ['y', { prompt: 2, cached: 1 }],
    ])
    expect(figures?.averagePrice('a/priced', (tag) => prices.get(tag) ?? null)).toBeCloseTo(1.5, 10)
    expect(figures?.averagePrice('a/none', () => null)).toBeNull()
  })
})

test('without a database there are no figures, and it is not tried for every request', async () => {
  let reads = 0
  const broken = new Proxy({} as Parameters<ModelSpending['find']>[0]['db'], {
    get: () => {
      reads++
      throw new Error('no database')
    },
  })
  const spending = new ModelSpending()
  expect(await spending.find({ db: broken, log }, 'o', 1_000_000)).toBeNull()
  const tried = reads
  expect(await spending.find({ db: broken, log }, 'o', 1_000_001)).toBeNull()
  expect(reads).toBe(tried)
  await spending.find({ db: broken, log }, 'o', 1_060_000)
  expect(reads).toBeGreaterThan(tried)
})
