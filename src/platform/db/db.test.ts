import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { isUniqueViolation, migrate } from './db.ts'

describeOnEachDatabase('the database', (server) => {
  const db = () => server().gateway.db

  test('migrating again changes nothing', async () => {
    expect(await migrate(db())).toEqual([])
  })

  test('money is a bigint to the last digit, sums included; every other integer is a number', async () => {
    const organization_id = server().own.organization.id
    const large = 9_007_199_254_740_993n
    await db()
      .insertInto('ledger_entries')
      .values({
        transaction_id: 'large',
        organization_id,
        account: 'test',
        amount_nanos: large,
        kind: 'grant',
        note: null,
        created_at: '2030-01-01T00:00:00.000Z',
      })
      .execute()
    const row = await db()
      .selectFrom('ledger_entries')
      .select((eb) => [
        eb.fn.sum<bigint>('amount_nanos').as('sum_nanos'),
        eb.fn.countAll<number>().as('count'),
        eb.fn.max('id').as('largest'),
      ])
      .where('account', '=', 'test')
      .executeTakeFirstOrThrow()
    expect(row).toEqual({ sum_nanos: large, count: 1, largest: expect.any(Number) })
  })

  test('a unique violation is distinguished from other errors', async () => {
    const twice = db().insertInto('instance').values({ name: 'first_start', value: 'again' }).execute()
    expect(isUniqueViolation(await twice.catch((error: unknown) => error))).toBe(true)
    const broken = sql`select * from no_such_table`.execute(db())
    expect(isUniqueViolation(await broken.catch((error: unknown) => error))).toBe(false)
  })

  test('a transaction that throws leaves nothing, and the connection is free for the next query', async () => {
    const failing = db()
      .transaction()
      .execute(async (tx) => {
        await tx.insertInto('instance').values({ name: 'rolled-back', value: 'x' }).execute()
        throw new Error('stop')
      })
    expect(await failing.catch((error: Error) => error.message)).toBe('stop')
    const found = await db().selectFrom('instance').selectAll().where('name', '=', 'rolled-back').execute()
    expect(found).toEqual([])
  })

  test('a hundred transactions at once all commit', async () => {
    const add = (i: number) =>
      db()
        .transaction()
        .execute(async (tx) => {
          await tx
            .insertInto('instance')
            .values({ name: `parallel-${i}`, value: '' })
            .execute()
          await tx
            .updateTable('instance')
            .set({ value: 'done' })
            .where('name', '=', `parallel-${i}`)
            .execute()
        })
    await Promise.all(Array.from({ length: 100 }, (_, i) => add(i)))
    const { count } = await db()
      .selectFrom('instance')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('name', 'like', 'parallel-%')
      .where('value', '=', 'done')
      .executeTakeFirstOrThrow()
    expect(count).toBe(100)
  })
})

describe('SQLite with another process', () => {
  test('another writer is waited for without blocking anything else', async () => {
    const { startTestServer } = await import('../../../test/support/harness.ts')
    const server = await startTestServer('sqlite')
    const other = new Database(server.gateway.config.databaseUrl)
    other.run('begin immediate')
    const writing = server.call('POST', '/keys', { body: { name: 'patient' } })
    const alive = await fetch(`${server.url}/healthz`)
    expect(alive.status).toBe(200)
    other.run('commit')
    expect((await writing).status).toBe(201)
    other.close()
    await server.stop()
  })
})

describe('migrations', () => {
  test('every table of the schema is created by them', async () => {
    const text = await Bun.file(new URL('./schema.ts', import.meta.url)).text()
    const tables = [...(/interface Schema \{([^}]+)\}/.exec(text)?.[1] ?? '').matchAll(/(\w+):/g)].map(
      (m) => m[1],
    )
    expect(tables.length).toBeGreaterThan(10)
    const { startTestServer } = await import('../../../test/support/harness.ts')
    const server = await startTestServer('sqlite')
    const made = await server.gateway.db.introspection.getTables()
    await server.stop()
    expect(made.map((table) => table.name).sort()).toEqual(expect.arrayContaining(tables as string[]))
  })
})
