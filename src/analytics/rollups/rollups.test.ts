import { beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../test/support/harness.ts'
import { buildGeneration, insertGenerations, seededDice } from '../../../test/support/records.ts'
import { encodeUsageRecord } from '../../ledger/usage-record.ts'
import type { RollupQuery } from './aggregator.ts'
import {
  createNumberColumn,
  createTextColumn,
  decodeColumn,
  encodeColumn,
  packColumns,
  unpackColumns,
} from './column.ts'
import { compactSegments } from './compact-segments.ts'
import { completeLevels } from './complete-levels.ts'
import { GroupTotals } from './group-totals.ts'
import { rollupLevelNames } from './levels.ts'
import { queryRollups } from './query.ts'
import { deleteOldGenerations, deleteOldSegments } from './retention.ts'
import { rollUp } from './roll-up.ts'
import { insertSegments } from './segment-store.ts'

describe('columns', () => {
  const number = fc.oneof(fc.nat(3), fc.nat(300), fc.nat(70_000), fc.maxSafeNat(), fc.maxSafeInteger())
  const read = (column: ReturnType<typeof decodeColumn>, size: number) =>
    Array.from({ length: size }, (_, row) => column.numbers?.[row] ?? column.constant)

  test('numbers come back as they were, packed or not', () => {
    fc.assert(
      fc.property(fc.array(number), fc.array(number), (a, b) => {
        const parts = new Map(
          [a, b].map((numbers, i) => [`c${i}`, encodeColumn(createNumberColumn(numbers))]),
        )
        const back = unpackColumns(packColumns(parts))
        expect(read(decodeColumn(back.get('c0')!, a.length), a.length)).toEqual(a)
        expect(read(decodeColumn(back.get('c1')!, b.length), b.length)).toEqual(b)
      }),
    )
  })

  test('texts come back as they were', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.string())), (texts) => {
        const column = decodeColumn(encodeColumn(createTextColumn(texts)), texts.length)
        expect(read(column, texts.length).map((index) => column.values?.[index] ?? null)).toEqual(texts)
      }),
    )
  })

  test('a sum loses no digit, however large', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.maxSafeInteger(), { minLength: 1 })), (parts) => {
        const [totals, ofOneGroup] = [new GroupTotals(), new GroupTotals()]
        for (const part of parts) {
          const [size, column] = [part.length, createNumberColumn(part)]
          totals.add(new Int32Array(size), size, column, 1)
          ofOneGroup.add(0, size, decodeColumn(encodeColumn(column), size), 1)
        }
        const exact = parts.flat().reduce((sum, value) => sum + BigInt(value), 0n)
        expect([totals.get(0), ofOneGroup.get(0)]).toEqual([exact, exact])
      }),
    )
  })
})

describeOnEachDatabase('Roll-ups', (server) => {
  const gateway = () => server().gateway
  const now = '2028-03-15T12:00:00.000Z'
  let tenant: Tenant

  beforeEach(async () => {
    server().clock.freeze(now)
    tenant = await createTenant(gateway(), 'Tenant')
    // All tests use the same times.
    await gateway().db.deleteFrom('unrolled_generations').execute()
    await gateway().db.deleteFrom('generations').execute()
  })

  const unrolled = () => gateway().db.selectFrom('unrolled_generations').select('generation_id').execute()
  const minutesAgo = (minutes: number) => new Date(Date.parse(now) - minutes * 60_000).toISOString()
  const insert = (
    count: number,
    change: (i: number) => Partial<Parameters<typeof buildGeneration>[1]> = () => ({}),
  ) =>
    insertGenerations(
      gateway().db,
      Array.from({ length: count }, (_, i) =>
        buildGeneration(tenant, { created_at: minutesAgo(5), cost_nanos: BigInt(i + 1), ...change(i) }),
      ),
    )
  const whole: RollupQuery = {
    from: Date.parse('2028-01-01T00:00:00Z'),
    to: Date.parse('2028-04-01T00:00:00Z'),
    granularity: null,
    dimensions: [],
    filters: [],
    measures: ['requests', 'credits'],
    histograms: [],
  }
  const totals = async (incoming: Partial<RollupQuery> = {}) => {
    const scope = { organizationId: tenant.organization.id, timeoutMs: 10_000 }
    const [group] = await queryRollups(gateway().db, { ...scope, query: { ...whole, ...incoming } })
    return group ? [Number(group.sum('requests')), group.sum('credits')] : [0, 0n]
  }
  const segments = () =>
    gateway()
      .db.selectFrom('usage_segments')
      .selectAll()
      .where('organization_id', '=', tenant.organization.id)
      .execute()
  const rolledRequests = async () =>
    (await segments()).filter(({ level }) => level === 'request').reduce((sum, { size }) => sum + size, 0)
  const keyDays = () =>
    gateway()
      .db.selectFrom('key_days')
      .selectAll()
      .where('organization_id', '=', tenant.organization.id)
      .orderBy('day')
      .execute()

  test('the thread starts only if there is something to roll up', async () => {
    const { rollUps } = gateway()
    await rollUps.rollUp({ isAll: true })
    expect(rollUps).toHaveProperty('isRunning', false)
    await insert(3)
    await rollUps.rollUp()
    expect(rollUps).toHaveProperty('isRunning', false)
    await rollUps.rollUp({ isAll: true })
    expect(rollUps).toHaveProperty('isRunning', true)
    expect(await unrolled()).toEqual([])
  })

  test('R23 queries are exact before and after, and what a key spent on a day is retained', async () => {
    await insert(100, (i) => ({ key_id: 7, ...(i % 2 && { is_byok: 1, upstream_cost_nanos: 1000n }) }))
    expect(await totals({ measures: ['requests', 'credits', 'byok_fees'] })).toEqual([100, 2500n])
    await rollUp(gateway(), { minRows: 1 })
    expect(await rolledRequests()).toBe(100)
    expect(await totals()).toEqual([100, 2500n])
    expect(await keyDays()).toEqual([
      {
        key_id: 7,
        day: '2028-03-15',
        organization_id: tenant.organization.id,
        workspace_id: tenant.workspace.id,
        user_id: '',
        requests: 100,
        usage_nanos: 5050n,
        byok_usage_nanos: 50_000n,
      },
    ])
  })

  test('R13 a few rows wait for more, unless all are requested; no clock decides what is rolled up', async () => {
    await insert(10, () => ({ ended_at: minutesAgo(-60) }))
    await insert(10, () => ({ ended_at: minutesAgo(60 * 24 * 400) }))
    await rollUp(gateway(), { minRows: 21 })
    expect(await rolledRequests()).toBe(0)
    expect((await totals())[0]).toBe(20)
    await rollUp(gateway(), { minRows: 20 })
    expect(await rolledRequests()).toBe(20)
    await insert(10, () => ({ ended_at: minutesAgo(5) }))
    expect((await totals())[0]).toBe(30)
    await rollUp(gateway(), { minRows: 1 })
    expect(await rolledRequests()).toBe(30)
    expect((await totals())[0]).toBe(30)
    expect(await unrolled()).toEqual([])
  })

  test('R22 with several roll-ups at once, each request counts once', async () => {
    const dice = seededDice(1)
    await insert(900, () => ({ ended_at: minutesAgo(1 + dice(60)), key_id: dice(5) }))
    await Promise.all(Array.from({ length: 6 }, () => rollUp(gateway(), { minRows: 1, maxRows: 100 })))
    expect(await rolledRequests()).toBe(900)
    expect((await keyDays()).reduce((sum, { requests }) => sum + requests, 0)).toBe(900)
    expect(await totals()).toEqual([900, 405_450n])
  })

  test('R7 a failed step changes nothing, and the next one catches up', async () => {
    const { db } = gateway()
    await insert(50)
    await sql`alter table key_days rename to key_days_away`.execute(db)
    const failed = await rollUp(gateway(), { minRows: 1 }).catch(() => 'failed')
    await sql`alter table key_days_away rename to key_days`.execute(db)
    expect(failed).toBe('failed')
    expect(await unrolled()).toHaveLength(50)
    expect(await segments()).toEqual([])
    expect((await totals())[0]).toBe(50)
    await rollUp(gateway(), { minRows: 1 })
    expect(await rolledRequests()).toBe(50)
    expect((await totals())[0]).toBe(50)
  })

  test('R13 a request that ends days later counts on the day it began, whatever was compacted before', async () => {
    const began = { created_at: '2028-02-29T23:59:59.999Z' }
    for (let i = 0; i < 5; i++) {
      server().clock.freeze(`2028-03-01T0${i}:30:00.000Z`)
      await insert(3, () => ({ ...began, ended_at: `2028-03-01T0${i}:00:00.000Z` }))
      await rollUp(gateway(), { minRows: 1 })
    }
    server().clock.freeze(now)
    expect(await segments()).toHaveLength(5 * (rollupLevelNames.length + 1))
    await compactSegments(gateway())
    expect(await segments()).toHaveLength(rollupLevelNames.length + 1)
    await insert(2, () => ({ ...began, ended_at: minutesAgo(2) }))
    const leapDay = { from: Date.parse('2028-02-29'), to: Date.parse('2028-03-01') }
    expect((await totals(leapDay))[0]).toBe(17)
    await rollUp(gateway(), { minRows: 1 })
    expect((await totals(leapDay))[0]).toBe(17)
    expect((await totals({ from: Date.parse('2028-03-01') }))[0]).toBe(0)
    expect((await keyDays()).map(({ day, requests }) => [day, requests])).toEqual([['2028-02-29', 17]])
  })

  test('a level that was added later is read once it has all requests of a day', async () => {
    const { db } = gateway()
    const yesterday = { created_at: '2028-03-14T09:00:00.000Z', ended_at: '2028-03-14T09:00:01.000Z' }
    await insert(3, (n) => ({ ...yesterday, key_id: 7 + (n % 2) }))
    await rollUp(gateway(), { minRows: 1 })
    await db.deleteFrom('usage_segments').where('level', 'in', ['models', 'keys']).execute()
    await db.updateTable('usage_segments').set({ requests: null }).execute()
    await insert(2, () => ({ ...yesterday, key_id: 8 }))
    await rollUp(gateway(), { minRows: 1 })
    const scope = { organizationId: tenant.organization.id, timeoutMs: 10_000 }
    const read = async (column: 'model' | 'key') => {
      const query = { ...whole, dimensions: [{ column, read: (value: string | null) => value }] }
      const groups = await queryRollups(db, { ...scope, query })
      return Object.fromEntries(groups.map((group) => [group.values[0], Number(group.sum('requests'))]))
    }
    const byModel = await read('model')
    expect(Object.values(byModel)).toEqual([5])
    expect(await read('key')).toEqual({ 7: 2, 8: 3 })
    await completeLevels(gateway())
    const added = async () =>
      (await segments())
        .filter(({ level }) => level === 'models' || level === 'keys')
        .map(({ level, size, requests }) => [level, size, requests])
        .sort()
    expect(await added()).toEqual([
      ['keys', 2, 5],
      ['models', 1, 5],
    ])
    await Promise.all([completeLevels(gateway()), compactSegments(gateway())])
    expect(await added()).toHaveLength(2)
    expect(await read('model')).toEqual(byModel)
    expect(await read('key')).toEqual({ 7: 2, 8: 3 })
  })

  test('the distribution of all requests is that of the single ones, also after compaction', async () => {
    for (let part = 0; part < 4; part++) {
      await insert(2100, (n) => ({
        ...{ created_at: '2028-03-14T09:00:00.000Z', ended_at: '2028-03-14T09:01:00.000Z' },
        ...{ first_token_ms: null, latency_ms: (n * n * 7919) % (5000 * (part + 1)) },
      }))
      await rollUp(gateway(), { minRows: 1 })
    }
    const read = async (filters: RollupQuery['filters']) => {
      const query: RollupQuery = { ...whole, measures: [], histograms: ['latency', 'throughput'], filters }
      const scope = { organizationId: tenant.organization.id, timeoutMs: 10_000 }
      const [group] = await queryRollups(gateway().db, { ...scope, query })
      return (['latency', 'throughput'] as const).map((name) => [
        ...[0.1, 0.5, 0.99].map((share) => group?.percentile(name, share)),
        group?.average(name),
      ])
    }
    const single = await read([{ column: 'model', matches: () => true }])
    expect(single[0]?.every((value) => typeof value === 'number')).toBe(true)
    expect(await read([])).toEqual(single)
    await compactSegments(gateway())
    expect((await segments()).filter(({ level }) => level === 'request')).toHaveLength(1)
    expect(await read([])).toEqual(single)
  })

  test('keys are counted also where they were stored as texts', async () => {
    const { db } = gateway()
    const day = '2028-03-14'
    const [key, requests] = [createTextColumn(['7', '8', '7']), createNumberColumn([1, 1, 1])]
    const columns = new Map(Object.entries({ key, requests }))
    const segment = { day, size: 3, columns }
    const organizationId = tenant.organization.id
    await insertSegments(db, [{ organizationId, level: 'request', segment, requests: null }])
    await insert(1, () => ({ created_at: `${day}T09:00:00.000Z`, key_id: 7 }))
    const query = {
      ...whole,
      dimensions: [{ column: 'key' as const, read: (value: string | null) => value }],
    }
    const groups = await queryRollups(db, { organizationId, timeoutMs: 10_000, query })
    const counts = groups.map((group) => [group.values[0], Number(group.sum('requests'))])
    expect(counts.sort()).toEqual([
      ['7', 3],
      ['8', 1],
    ])
  })

  test('a corrected request counts once in averages and percentiles, packed or not', async () => {
    const { db } = gateway()
    const created_at = '2028-03-14T09:00:00.000Z'
    const row = buildGeneration(tenant, { created_at, latency_ms: 100 })
    const other = buildGeneration(tenant, { created_at: '2028-03-14T23:00:00.000Z', latency_ms: 7 })
    await insertGenerations(db, [row, other])
    await rollUp(gateway(), { minRows: 1 })
    await db.updateTable('generations').set({ latency_ms: 500 }).where('id', '=', row.id).execute()
    const previous = encodeUsageRecord({ ...row })
    const corrected = { generation_id: row.id, organization_id: row.organization_id, previous }
    await db.insertInto('unrolled_generations').values(corrected).execute()
    const spread = async (from: string) => {
      const scope = { organizationId: tenant.organization.id, timeoutMs: 10_000 }
      const query = { ...whole, from: Date.parse(from), histograms: ['latency' as const] }
      const [group] = await queryRollups(db, { ...scope, query })
      return [group?.average('latency'), Math.round(group?.percentile('latency', 0.99) ?? 0)]
    }
    const check = async () => {
      expect(await spread('2028-03-01T00:00:00Z')).toEqual([253.5, 497])
      expect(await spread('2028-03-14T08:00:00Z')).toEqual([253.5, 497])
    }
    await check()
    await rollUp(gateway(), { minRows: 1 })
    await check()
  })

  test('a day is compacted by several processes at once, while others query it', async () => {
    for (let i = 0; i < 8; i++) {
      const ended = `2028-03-12T00:0${i}:00.000Z`
      server().clock.freeze(`2028-03-12T00:0${i}:45.000Z`)
      await insert(40, (n) => ({
        created_at: `2028-03-1${i % 2}T09:00:0${n % 10}.000Z`,
        ended_at: ended,
        key_id: n % 4,
      }))
      await rollUp(gateway(), { minRows: 1 })
      server().clock.freeze(now)
    }
    const before = await totals()
    const request = Array.from({ length: 20 }, () => totals())
    await Promise.all(Array.from({ length: 4 }, () => compactSegments(gateway())))
    for (const answered of await Promise.all(request)) expect(answered).toEqual(before)
    expect(await totals()).toEqual(before)
    const remaining = await segments()
    expect(remaining.filter(({ level }) => level === 'day').reduce((sum, { size }) => sum + size, 0)).toBe(8)
  })

  test('R23 old generations are deleted once they are rolled up, with their feedback; their totals stay', async () => {
    const { db } = gateway()
    const old = '2028-01-05T10:00:00.000Z'
    await insert(700, () => ({ created_at: old, ended_at: old }))
    await insert(5)
    const [first] = await db
      .selectFrom('generations')
      .select('id')
      .where('organization_id', '=', tenant.organization.id)
      .where('ended_at', '=', old)
      .execute()
    await db
      .insertInto('generation_feedback')
      .values({
        id: `feedback-${first!.id}`,
        organization_id: tenant.organization.id,
        generation_id: first!.id,
        category: 'other',
        comment: null,
        created_at: old,
      })
      .execute()
    const left = async () =>
      (
        await db
          .selectFrom('generations')
          .select('id')
          .where('organization_id', '=', tenant.organization.id)
          .execute()
      ).length
    await deleteOldGenerations(gateway(), 30)
    expect(await left()).toBe(705)
    await rollUp(gateway(), { minRows: 1 })
    const before = await totals()
    expect(await deleteOldGenerations(gateway(), null)).toBe(0)
    await deleteOldGenerations(gateway(), 30)
    expect(await left()).toBe(5)
    expect(await totals()).toEqual(before)
    const feedback = await db
      .selectFrom('generation_feedback')
      .select('id')
      .where('generation_id', '=', first!.id)
      .execute()
    expect(feedback).toEqual([])
    server().clock.freeze('2029-06-01T00:00:00.000Z')
    await deleteOldSegments(gateway())
    expect((await segments()).map(({ level }) => level)).not.toContain('request')
    expect(await totals()).toEqual(before)
  })
})
