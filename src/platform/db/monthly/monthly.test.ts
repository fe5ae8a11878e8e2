import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Kysely, sql } from 'kysely'
import {
  createDatabase,
  createMigratedDatabase,
  type TestDatabase,
} from '../../../../test/support/databases.ts'
import { readBlankGeneration } from '../../../../test/support/generations.ts'
import { databaseKinds } from '../../../../test/support/harness.ts'
import { deleteOldGenerations } from '../../../analytics/rollups/retention.ts'
import { newTimeOrderedHex } from '../../crypto/ids.ts'
import { closeDb, type Db, migrate, openDb } from '../db.ts'
import { generationColumns } from '../generation-table.ts'
import { migrateOffline } from '../migrate/offline.ts'
import { maintainMonths } from './maintenance.ts'
import { firstIdOf, formatMonth, monthBeginningWith, monthOf, startOfMonth } from './months.ts'
import { changeTables, isPartitioned, monthlyTables, readPartitions } from './partitions.ts'

const dayMs = 86_400_000
const now = Date.now()
const present = monthOf(now)

test('months begin with ids that ids of their time follow', () => {
  const month = monthOf(Date.UTC(2026, 10, 18))
  expect(formatMonth(month)).toBe('202611')
  expect(firstIdOf(month) < `gen-${(startOfMonth(month) + 1).toString(16).padStart(12, '0')}`).toBe(true)
  expect(monthBeginningWith(firstIdOf(month))).toBe(month)
  expect(monthBeginningWith('gen-v')).toBeNull()
  expect(firstIdOf(monthOf(now)) < `gen-${newTimeOrderedHex()}`).toBe(true)
  expect(firstIdOf(monthOf(now) + 1) > `gen-${newTimeOrderedHex()}`).toBe(true)
})

function idAt(time: number): string {
  return `gen-${time.toString(16).padStart(12, '0')}${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`
}

/** As every version inserts them. */
async function insert(db: Db, id: string, endedAt = now): Promise<void> {
  const time = new Date(endedAt).toISOString()
  await db
    .insertInto('generations')
    .values({
      ...(await readBlankGeneration(db)),
      ...{ id, organization_id: 'org_1', workspace_id: 'ws', key_id: 1 },
      ...{ created_at: time, ended_at: time },
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

async function findPartition(db: Db, id: string): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`select cast(cast(tableoid as regclass) as text) as name
    from generations where id = ${id}`.execute(db)
  return rows[0]?.name
}

async function listIds(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('generations').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

describe.if(databaseKinds.includes('postgres'))('Generations by month (postgres)', () => {
  let database: TestDatabase
  let db: Db

  beforeAll(async () => {
    database = await createMigratedDatabase()
    db = openDb(database.url)
    await migrate(db)
  })

  afterAll(async () => {
    await closeDb(db)
    await database.drop()
  })

  test('each is in the partition of its month, whatever its id, and recording it twice changes nothing', async () => {
    const cases: [string, string][] = [
      [`gen-${newTimeOrderedHex()}`, formatMonth(present)],
      [idAt(startOfMonth(present + 1)), formatMonth(present + 1)],
      [idAt(startOfMonth(present + 1) - 1), formatMonth(present)],
      [idAt(startOfMonth(present + 30)), 'later'],
      [idAt(startOfMonth(present) - 1), 'before'],
      [`gen-vid-${newTimeOrderedHex()}`, 'before'],
      ['x', 'before'],
    ]
    for (const [id, partition] of cases) {
      await insert(db, id)
      await insert(db, id)
      expect(await findPartition(db, id)).toBe(`generations_${partition}`)
    }
    expect(await listIds(db)).toHaveLength(cases.length)
  })

  test('one is found by its id in one index of one partition', async () => {
    const { rows } = await sql<Record<string, string>>`explain select * from generations
      where id = ${sql.lit(`gen-${newTimeOrderedHex()}`)}`.execute(db)
    const plan = rows.map((row) => Object.values(row)[0]).join('\n')
    expect(plan.match(/generations_\w+/g)?.filter((name) => !name.endsWith('_pkey'))).toHaveLength(1)
  })

  test('coming months are added, with the rows that came before their partition', async () => {
    const id = idAt(startOfMonth(present + 4) + dayMs)
    await insert(db, id)
    expect(await findPartition(db, id)).toBe('generations_later')
    await maintainMonths(db, database.url, startOfMonth(present + 3))
    expect(await findPartition(db, id)).toBe(`generations_${formatMonth(present + 4)}`)
    for (const { name } of monthlyTables) {
      const partitions = await readPartitions(db as unknown as Kysely<unknown>, name)
      expect(partitions?.months.map(({ month }) => month - present)).toEqual([0, 1, 2, 3, 4, 5])
    }
    await maintainMonths(db, database.url, startOfMonth(present + 3))
  })

  test('a change waits a limited time for its lock', async () => {
    const holding = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holder = db.transaction().execute(async (tx) => {
      await sql`select 1 from generations limit 1`.execute(tx)
      locked.resolve()
      await holding.promise
    })
    await locked.promise
    const change = changeTables(db as unknown as Kysely<unknown>, (tx) =>
      sql`lock table generations in access exclusive mode`.execute(tx),
    )
    await expect(change).rejects.toThrow(/lock timeout/)
    holding.resolve()
    await holder
  })
})

describe.if(databaseKinds.includes('postgres'))(
  'Generations that were not stored by month (postgres)',
  () => {
    let database: TestDatabase
    let db: Db
    const ids = Array.from({ length: 50 }, (_, day) => idAt(now - day * dayMs))

    beforeAll(async () => {
      database = await createDatabase()
      db = openDb(database.url)
      const target = { upTo: '059-ended-sessions' }
      await db.transaction().execute((tx) => migrateOffline(tx as unknown as Kysely<unknown>, target))
      for (const id of [...ids, `gen-vid-${newTimeOrderedHex()}`]) await insert(db, id)
      await migrate(db)
    })

    afterAll(async () => {
      await closeDb(db)
      await database.drop()
    })

    test('stay where they are until the job, which needs no scan for it, and then in their partition', async () => {
      const before = await listIds(db)
      expect(await isPartitioned(db as unknown as Kysely<unknown>, 'generations')).toBe(false)
      expect(await isPartitioned(db as unknown as Kysely<unknown>, 'generation_lines')).toBe(true)
      const { rows: files } = await sql<{
        file: number
      }>`select pg_relation_filenode('generations') as file`.execute(db)
      // Requests are settled meanwhile, as by the version before.
      let isDone = false
      const settling = (async () => {
        const settled: string[] = []
        while (!isDone) {
          const id = `gen-${newTimeOrderedHex()}`
          await insert(db, id)
          settled.push(id)
        }
        return settled
      })()
      await maintainMonths(db, database.url, now)
      isDone = true
      const settled = await settling
      expect(await listIds(db)).toEqual([...before, ...settled].sort())
      expect(await findPartition(db, ids[0] ?? '')).toBe('generations_before')
      const { rows: kept } = await sql<{
        file: number
      }>`select pg_relation_filenode('generations_before') as file`.execute(db)
      expect(kept).toEqual(files)
    })

    test('keep their indexes and columns', async () => {
      const { rows } = await sql<{ name: string; valid: boolean }>`select relname as name, indisvalid as valid
      from pg_index join pg_class on pg_class.oid = indexrelid where indrelid = 'generations'::regclass order by 1`.execute(
        db,
      )
      expect(rows).toEqual(
        [
          ...['generations_by_client_id', 'generations_by_session', 'generations_by_time'],
          ...['generations_by_upstream_id', 'generations_ended', 'generations_pkey'],
          'generations_unsuccessful',
        ].map((name) => ({ name, valid: true })),
      )
      const { rows: columns } = await sql<{ name: string }>`select attname as name from pg_attribute
      where attrelid = 'generations'::regclass and attnum > 0 and not attisdropped`.execute(db)
      expect(columns.map(({ name }) => name).sort()).toEqual([...generationColumns].sort())
    })

    test('a check that did not end before its bound is given up, and no request fails for it', async () => {
      await sql`create table lines_copy (like generation_lines including all)`.execute(db)
      await sql`drop table generation_lines`.execute(db)
      await sql`alter table lines_copy rename to generation_lines`.execute(db)
      const past = firstIdOf(present)
      await sql`alter table generation_lines add constraint generation_lines_before_bound
      check (generation_id < ${sql.lit(past)} or generation_id >= 'gen-v') not valid`.execute(db)
      await maintainMonths(db, database.url, now)
      await sql`insert into generation_lines (generation_id, position, kind, name, quantity, cost_nanos, duration_ms)
      values (${`gen-${newTimeOrderedHex()}`}, 0, 'turn', 'model', 1, 1, 1)`.execute(db)
      expect(await isPartitioned(db as unknown as Kysely<unknown>, 'generation_lines')).toBe(true)
    })
  },
)

describe.if(databaseKinds.includes('postgres'))('Retention of months (postgres)', () => {
  let database: TestDatabase
  let db: Db
  const later = startOfMonth(present + 4) + 10 * dayMs
  const clock = { now: () => later }

  beforeAll(async () => {
    database = await createMigratedDatabase()
    db = openDb(database.url)
    await migrate(db)
    await maintainMonths(db, database.url, later)
  })

  afterAll(async () => {
    await closeDb(db)
    await database.drop()
  })

  const months = async () =>
    (await readPartitions(db as unknown as Kysely<unknown>, 'generations'))?.months.map(
      ({ month }) => month - present,
    )

  test('a month with a generation that ClickHouse does not have is not dropped', async () => {
    const id = idAt(startOfMonth(present) + dayMs)
    await insert(db, id, startOfMonth(present) + dayMs)
    const before = await months()
    await db
      .insertInto('clickhouse_queue')
      .values({ generation_id: id, organization_id: 'org_1', version: 1, moved_from: null })
      .execute()
    await deleteOldGenerations({ db, clock }, 10)
    expect(await listIds(db)).toEqual([id])
    await db.deleteFrom('clickhouse_queue').execute()
    await db.deleteFrom('generations').execute()
    expect(await months()).toEqual(before)
  })

  test('a month is dropped when all it has is expired and rolled up, with what belongs to it', async () => {
    const [old, unrolled, late, recent] = [0, 1, 2, 4].map((month) =>
      idAt(startOfMonth(present + month) + dayMs),
    ) as [string, string, string, string]
    await insert(db, old, startOfMonth(present) + dayMs)
    await insert(db, unrolled, startOfMonth(present + 1) + dayMs)
    await insert(db, late, later)
    await insert(db, recent, later)
    await sql`insert into unrolled_generations (generation_id, organization_id) values (${unrolled}, 'org_1')`.execute(
      db,
    )
    await sql`insert into generation_lines (generation_id, position, kind, name, quantity, cost_nanos, duration_ms)
      select id, 0, 'turn', 'model', 1, 1, 1 from generations`.execute(db)
    await sql`insert into generation_tasks (generation_id, tag, language, weight)
      select id, 'other', 'en', 1 from generations`.execute(db)

    expect(await deleteOldGenerations({ db, clock }, 10, true)).toBe(0)
    expect(await months()).toEqual([1, 2, 3, 4, 5, 6])
    expect(await listIds(db)).toEqual([unrolled, late, recent])

    await sql`delete from unrolled_generations`.execute(db)
    expect(await deleteOldGenerations({ db, clock }, 10, true)).toBe(0)
    expect(await months()).toEqual([2, 3, 4, 5, 6])
    const lines = await db
      .selectFrom('generation_lines')
      .select('generation_id')
      .orderBy('generation_id')
      .execute()
    expect(lines.map(({ generation_id }) => generation_id)).toEqual([late, recent])
    const tasks = await db
      .selectFrom('generation_tasks')
      .select('generation_id')
      .orderBy('generation_id')
      .execute()
    expect(tasks).toEqual(lines)
  })

  test('a request of a dropped month is still recorded, and deleted in its time', async () => {
    const id = idAt(startOfMonth(present) + 2 * dayMs)
    await insert(db, id, later)
    expect(await findPartition(db, id)).toBe('generations_earlier')
    await deleteOldGenerations({ db, clock }, 10, true)
    expect(await findPartition(db, id)).toBe('generations_earlier')
    expect(await deleteOldGenerations({ db, clock: { now: () => later + 11 * dayMs } }, 10, true)).toBe(1)
  })

  test('without it, rows of a month that is partly expired are deleted', async () => {
    const [expired, kept] = [1, 9].map((day) => idAt(startOfMonth(present + 4) + day * dayMs)) as [
      string,
      string,
    ]
    await insert(db, expired, startOfMonth(present + 4) + dayMs)
    await insert(db, kept, startOfMonth(present + 4) + 9 * dayMs)
    expect(await deleteOldGenerations({ db, clock }, 5, true)).toBe(0)
    expect(await deleteOldGenerations({ db, clock }, 5)).toBe(1)
    expect(await listIds(db)).toContain(kept)
    expect(await listIds(db)).not.toContain(expired)
  })
})
