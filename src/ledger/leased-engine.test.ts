import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createMigratedDatabase, type TestDatabase } from '../../test/support/databases.ts'
import { toGenerationRecord } from '../../test/support/generations.ts'
import { databaseKinds } from '../../test/support/harness.ts'
import { requestHolds } from '../../test/support/holds.ts'
import { createLeasedEngine } from '../../test/support/leased-engine.ts'
import { closeDb, type Db, openDb } from '../platform/db/db.ts'
import { emptyGeneration } from '../platform/db/generation-table.ts'
import { PostgresBatchConnection } from '../platform/db/postgres-batch.ts'
import { checkLedger } from './check.ts'
import { emptyDraft } from './draft.ts'
import type { AdmitOperation, Settlement } from './engine.ts'
import { leasePattern } from './lease-id.ts'
import { LeaseTakeover } from './lease-takeover.ts'
import { type LeaseTime, processTime } from './lease-time.ts'
import type { LeasedEngine } from './leased-engine.ts'
import { PostgresLeases } from './postgres-leases.ts'

const now = '2030-05-01T12:00:00.000Z'
const day = '2030-05-01'
const subjects = ['organization:one', 'workspace:one', 'key:1']
const limit = {
  kind: 'key',
  subject: 'key:1',
  window: 'day',
  includeByok: false,
  amount: 1_000_000n,
} as const

describe.if(databaseKinds.includes('postgres'))('an engine with leases (postgres)', () => {
  let database: TestDatabase
  let db: Db
  let engine: LeasedEngine
  let count = 0

  function connect() {
    return new PostgresLeases(
      new PostgresBatchConnection(database.url),
      new PostgresBatchConnection(database.url),
    )
  }

  function openEngine(nodeId: string, time: LeaseTime = processTime): LeasedEngine {
    return createLeasedEngine(database.url, { nodeId, time })
  }

  beforeAll(async () => {
    database = await createMigratedDatabase()
    db = openDb(database.url)
    const organization = { id: 'one', name: 'one', is_operator: 0, created_at: now } as const
    await db.insertInto('organizations').values(organization).execute()
    engine = openEngine('node')
  })

  afterAll(async () => {
    await engine.close()
    await closeDb(db)
    await database.drop()
  })

  function buildAdmission(amount = 10n): AdmitOperation {
    const id = `gen-${String(++count).padStart(8, '0')}`
    const generation = {
      ...emptyGeneration,
      ...{ id, organization_id: 'one', workspace_id: 'one', key_id: 1, created_at: now },
    }
    return {
      op: 'admit',
      organizationId: 'one',
      owner: 'node',
      expiresAt: '2999-01-01T00:00:00.000Z',
      draft: { ...emptyDraft, generation },
      request: { id, subjects, day, limits: [limit], free: null, amount, byok: 0n },
    }
  }

  function buildSettlement({ request, draft }: AdmitOperation, cost: bigint): Settlement {
    const { outcome } = toGenerationRecord({
      ...emptyGeneration,
      ...{ cost_nanos: cost, hold_nanos: request.amount, status: 'completed', region: 'global' },
    })
    return {
      op: 'settle',
      id: request.id,
      organizationId: 'one',
      isByok: false,
      spent: { amount: cost, byok: 0n },
      generation: { draft: draft.generation, outcome },
      meteredIn: { subjects, day },
      extraStatements: [],
    }
  }

  /** Admits until a lease covers a request, which then needs no promise. */
  async function admitWithinLease(): Promise<AdmitOperation> {
    for (let tries = 0; tries < 20; tries++) {
      const op = buildAdmission()
      if (engine.admitNow(op) === null) return op
      await engine.run([op], now)
      await engine.run([buildSettlement(op, 1n)], now)
    }
    throw new Error('no lease was granted')
  }

  async function expectSound(spent: bigint): Promise<void> {
    await engine.flush()
    expect((await checkLedger(db)).findings.flatMap(({ violations }) => violations)).toEqual([])
    expect(await requestHolds(db).select('id').execute()).toEqual([])
    const { total } = await db
      .selectFrom('generations')
      .select((eb) => eb.fn.sum<bigint>('cost_nanos').as('total'))
      .executeTakeFirstOrThrow()
    const meter = await db
      .selectFrom('meters')
      .select('total_nanos')
      .where('subject', '=', 'key:1')
      .executeTakeFirstOrThrow()
    expect([meter.total_nanos, BigInt(total)]).toEqual([spent, spent])
  }

  const readSpent = async () =>
    (await db.selectFrom('meters').select('total_nanos').where('subject', '=', 'key:1').executeTakeFirst())
      ?.total_nanos ?? 0n

  test('R2 I2 a settlement that the database rejects keeps none of its round from being written once', async () => {
    const requests = [await admitWithinLease(), await admitWithinLease(), await admitWithinLease()]
    await engine.flush()
    const before = await readSpent()
    const [first, second, third] = requests.map((op) => buildSettlement(op, 5n)) as [
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
    const op = await admitWithinLease()
    await engine.flush()
    const before = await readSpent()
    const settlement = buildSettlement(op, 7n)
    await (await engine.run([settlement], now)).durable
    await (await engine.run([{ ...settlement, isRetry: true }], now)).durable
    await expectSound(before + 7n)
    await (await engine.run([{ ...settlement, isRetry: true }], now)).durable
    await expectSound(before + 7n)
  })

  test('R2 I4 the leases of a silent node are taken over, its allowance stays, and one without leases is let be', async () => {
    // Without timers, it renews nothing.
    const silent = openEngine('silent', { ...processTime, setTimer: () => () => undefined })
    const request = buildAdmission(100n)
    await silent.run([{ ...request, owner: 'silent' }], now)
    await (await silent.run([buildSettlement(request, 1n)], now)).durable
    await silent.flush()
    let time = 0
    const takeover = new LeaseTakeover(connect(), 'other', { ...processTime, now: () => time })
    const leases = () =>
      db.selectFrom('holds').select(['owner', 'amount_nanos']).where('id', 'like', leasePattern)
    const held = (await leases().where('owner', '=', 'silent').execute())[0]?.amount_nanos ?? 0n
    expect(held).toBeGreaterThan(0n)
    let taken = 0
    for (; time <= 14_000; time += 2000) taken += await takeover.run(now)
    expect(taken).toBeGreaterThan(0)
    expect(await leases().where('owner', '=', 'silent').execute()).toEqual([])
    const allowances = await leases().where('owner', 'like', 'journal%').execute()
    expect(allowances.map(({ amount_nanos }) => amount_nanos)).toContain(held / 4n)
    await silent.close()
    // It has released what was reserved for it.
    expect(
      await leases()
        .where('owner', 'like', 'journal%')
        .where('amount_nanos', '=', held / 4n)
        .execute(),
    ).toEqual([])
    expect(await takeover.run(now)).toBe(0)
  })
})
