import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Kysely, sql } from 'kysely'
import {
  createDatabase,
  createMigratedDatabase,
  type TestDatabase,
} from '../../../../test/support/databases.ts'
import { databaseKinds } from '../../../../test/support/harness.ts'
import { ClusterNode } from '../../../ledger/recovery.ts'
import { closeDb, type Db, migrate, openDb, readDatabaseTime } from '../db.ts'
import { migrations } from '../migrations/all.ts'
import { assertKnownSchema, runMigrations, upgrade } from '../upgrade.ts'
import { type LockLimits, MigrationBlockedError, transactBounded, withMigrationLock } from './locks.ts'
import { migrateOnline } from './online.ts'
import type { MigrationProgress } from './progress.ts'
import { createIndex, fillColumns, inTransaction, outsideTransaction, type SchemaMigration } from './steps.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-online-'))
const databases: TestDatabase[] = []
const opened: Db[] = []
afterEach(() => {
  for (const name of Object.keys(migrations)) if (name >= '900') delete migrations[name]
})
afterAll(async () => {
  for (const db of opened) await closeDb(db)
  for (const { drop } of databases) await drop()
  rmSync(folder, { recursive: true })
})

const nodeTimeoutMs = 30_000
const killedMigration = resolve('test/support/killed-migration.ts')

async function openMigrated(): Promise<{ db: Db; url: string }> {
  const database = await createMigratedDatabase()
  databases.push(database)
  const db = openDb(database.url)
  opened.push(db)
  return { db, url: database.url }
}

function declare(declared: Record<string, SchemaMigration>): void {
  Object.assign(migrations, declared)
}

function recordProgress() {
  const steps: string[] = []
  const details: string[] = []
  const waits: string[] = []
  const progress: MigrationProgress = {
    onStep: ({ migration, step }) => steps.push(`${migration} ${step}`),
    onProgress: (_, detail) => details.push(detail),
    onWait: (reason) => waits.push(reason),
  }
  return { steps, details, waits, progress }
}

async function leaveNode(db: Db, id: string, schema: string | null): Promise<void> {
  const seen_at = new Date(await readDatabaseTime(db)).toISOString()
  await db.insertInto('nodes').values({ id, started_at: seen_at, seen_at, schema }).execute()
}

const marks: SchemaMigration = {
  steps: [
    inTransaction('add marks.text', async (db) => {
      await sql`alter table marks add column text text`.execute(db)
    }),
    fillColumns({ table: 'marks', key: 'id', set: "text = 'mark ' || id", where: 'text is null' }),
    createIndex({ name: 'marks_by_text', table: 'marks', columns: ['text', 'id'] }),
    outsideTransaction('check the texts', async (db) => {
      await sql`select text from marks limit 1`.execute(db)
    }),
  ],
}

const withoutText: SchemaMigration = {
  contract: { after: '900-marks' },
  steps: [
    inTransaction('drop marks.text', async (db) => {
      await sql`drop index marks_by_text`.execute(db)
      await sql`alter table marks drop column text`.execute(db)
    }),
  ],
}

const rowCount = 5000

async function createMarks(db: Db): Promise<void> {
  await sql`create table marks (id text primary key)`.execute(db)
  await sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${rowCount})
    insert into marks select 'm' || n from numbers`.execute(db)
}

async function countUnfilled(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from marks
    where text is null or text <> 'mark ' || id`.execute(db)
  return Number(rows[0]?.count)
}

test('on SQLite all steps run in one transaction at the start', async () => {
  const url = join(folder, 'steps.sqlite')
  const db = openDb(url)
  opened.push(db)
  await migrate(db)
  await createMarks(db)
  const failing = inTransaction('fail', async () => {
    throw new Error('on purpose')
  })
  declare({ '900-marks': { steps: [...('steps' in marks ? marks.steps : []), failing] } })
  const options = { url, nodeTimeoutMs, log: { info: () => undefined } }
  await expect(upgrade(db, options)).rejects.toThrow('could not be migrated')
  expect(await countUnfilled(db).catch((error: Error) => error.message)).toContain('no such column')
  declare({ '900-marks': marks, '901-without-text': withoutText })
  await upgrade(db, options)
  expect(await countUnfilled(db).catch((error: Error) => error.message)).toContain('no such column')
  await sql`alter table marks add column text text`.execute(db)
  const { rows } = await sql`select step from migration_steps where finished_at is not null
    and migration = '900-marks'`.execute(db)
  expect(rows).toHaveLength(4)
})

describe.if(databaseKinds.includes('postgres'))('a migration on PostgreSQL while nodes serve', () => {
  test('runs its steps in turn, and does nothing the second time', async () => {
    const { db, url } = await openMigrated()
    await createMarks(db)
    await leaveNode(db, 'node-previous', null)
    declare({ '900-marks': marks })
    const { steps, details, progress } = recordProgress()
    expect(await runMigrations(url, { nodeTimeoutMs, progress })).toEqual({ run: ['900-marks'], waiting: [] })
    expect(steps).toEqual(['900-marks 1', '900-marks 2', '900-marks 3', '900-marks 4'])
    expect(details.at(-1)).toStartWith('5,000 of about ')
    expect(await countUnfilled(db)).toBe(0)
    const { rows } =
      await sql`select indisvalid from pg_index where indexrelid = 'marks_by_text'::regclass`.execute(db)
    expect(rows).toEqual([{ indisvalid: true }])
    expect(await runMigrations(url, { nodeTimeoutMs, progress })).toEqual({ run: [], waiting: [] })
    expect(steps).toHaveLength(4)
  })

  test('a version that does not know an expand migration starts, one that needs it does not', async () => {
    const { db, url } = await openMigrated()
    await createMarks(db)
    declare({ '900-marks': marks })
    await leaveNode(db, 'node-previous', null)
    const start = () => upgrade(db, { url, nodeTimeoutMs, log: { info: () => undefined } })
    const refusal = await start().catch((error: Error) => error.message)
    expect(refusal).toContain('needs the migration 900-marks, and the schema is')
    expect(refusal).toContain('node-previous')
    expect(refusal).toContain('Run "headgate migrate" of this version')
    await runMigrations(url, { nodeTimeoutMs, progress: recordProgress().progress })
    await start()
    delete migrations['900-marks']
    await start()
  })

  test('a contract migration waits until every node knows it, and ends earlier versions', async () => {
    const { db, url } = await openMigrated()
    await createMarks(db)
    declare({ '900-marks': marks, '901-without-text': withoutText })
    await leaveNode(db, 'node-previous', '900-marks')
    await new ClusterNode(false).sendHeartbeat(db, new Date(await readDatabaseTime(db)).toISOString())
    const run = () => runMigrations(url, { nodeTimeoutMs, progress: recordProgress().progress })
    const waiting = [{ name: '901-without-text', node: 'node-previous' }]
    expect(await run()).toEqual({ run: ['900-marks'], waiting })
    expect(await countUnfilled(db)).toBe(0)
    // Nodes of both versions start, and change nothing.
    const start = () => upgrade(db, { url, nodeTimeoutMs, log: { info: () => undefined } })
    await start()
    expect(await countUnfilled(db)).toBe(0)
    await db.deleteFrom('nodes').where('id', '=', 'node-previous').execute()
    await start()
    expect(await countUnfilled(db)).toBe(0)
    expect(await run()).toEqual({ run: ['901-without-text'], waiting: [] })
    expect(await countUnfilled(db).catch((error: Error) => error.message)).toContain('does not exist')
    delete migrations['901-without-text']
    for (const refused of [start, () => assertKnownSchema(db)])
      expect(await refused().catch((error: Error) => error.message)).toMatch(
        /^it was migrated by .*901-without-text/,
      )
  })

  test('without a node, a start runs everything', async () => {
    const { db, url } = await openMigrated()
    await createMarks(db)
    declare({ '900-marks': marks, '901-without-text': withoutText })
    await upgrade(db, { url, nodeTimeoutMs, log: { info: () => undefined } })
    expect(await countUnfilled(db).catch((error: Error) => error.message)).toContain('does not exist')
  })

  test('two processes run it once', async () => {
    const { db, url } = await openMigrated()
    await createMarks(db)
    declare({ '900-marks': marks })
    const { steps, progress } = recordProgress()
    const outcomes = await Promise.all([1, 2, 3].map(() => runMigrations(url, { nodeTimeoutMs, progress })))
    expect(outcomes.flatMap(({ run }) => run)).toEqual(['900-marks'])
    expect(steps).toHaveLength(4)
  })

  test('two nodes that start with an empty database create it once', async () => {
    const database = await createDatabase()
    databases.push(database)
    const start = async () => {
      const db = openDb(database.url)
      opened.push(db)
      await upgrade(db, { url: database.url, nodeTimeoutMs, log: { info: () => undefined } })
    }
    await Promise.all([start(), start()])
  })

  test.each([
    ['in the middle of a backfill', 'backfill'],
    ['after an index that is half built', 'index'],
    ['between a step and its successor', 'step'],
  ])('killed %s, it continues', async (_, point) => {
    const { db, url } = await openMigrated()
    await createMarks(db)
    const child = Bun.spawn([process.execPath, killedMigration, url, point], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    await child.exited
    expect(child.signalCode).toBe('SIGKILL')
    declare({ '900-marks': marks })
    const { steps, progress } = recordProgress()
    await runMigrations(url, { nodeTimeoutMs, progress })
    expect(steps).not.toContain('900-marks 1')
    expect(steps.at(-1)).toBe('900-marks 4')
    expect(await countUnfilled(db)).toBe(0)
    const { rows } = await sql`select indisvalid from pg_index where indrelid = 'marks'::regclass
      and not indisprimary`.execute(db)
    expect(rows).toEqual([{ indisvalid: true }])
    const { rows: counted } = await sql<{ changed_rows: number }>`select changed_rows from migration_steps
      where migration = '900-marks' and step = 1`.execute(db)
    expect(Number(counted[0]?.changed_rows)).toBe(rowCount)
  })

  const limits: LockLimits = { lockTimeoutMs: 50, statementTimeoutMs: 200, pauseMs: 1, maxTries: 3 }

  /** Holds a lock on the table until `work` has ended. */
  async function whileLocked(db: Db, work: () => Promise<void>): Promise<void> {
    const locked = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const holding = db.transaction().execute(async (tx) => {
      await sql`lock table marks in row exclusive mode`.execute(tx)
      locked.resolve()
      await ended.promise
    })
    await locked.promise
    await work().finally(ended.resolve)
    await holding
  }

  test('a lock that is not free is tried again, and the transaction that has it is named', async () => {
    const { db } = await openMigrated()
    await createMarks(db)
    declare({ '900-marks': marks })
    const { waits, progress } = recordProgress()
    await whileLocked(db, async () => {
      const error = await migrateOnline(db as Kysely<unknown>, { nodeTimeoutMs, progress, limits }).catch(
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(MigrationBlockedError)
      expect((error as Error).message).toMatch(
        /not free within 0\.05 s; the oldest transaction has run for \d+ s/,
      )
      expect(waits).toHaveLength(2)
      // Requests were not stopped.
      await sql`insert into marks (id) values ('during')`.execute(db)
    })
    await migrateOnline(db as Kysely<unknown>, { nodeTimeoutMs, progress, limits })
    expect(await countUnfilled(db)).toBe(0)
  })

  test('an index of a partitioned table does not stop requests that wait for its locks', async () => {
    const { db } = await openMigrated()
    await sql`create table marks (id text, text text) partition by list (id)`.execute(db)
    await sql`create table marks_default partition of marks default`.execute(db)
    declare({
      '900-marks': { steps: [createIndex({ name: 'marks_by_text', table: 'marks', columns: ['text'] })] },
    })
    const { waits, progress } = recordProgress()
    const run = () => migrateOnline(db as Kysely<unknown>, { nodeTimeoutMs, progress, limits })
    await whileLocked(db, async () => {
      const error = await run().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(MigrationBlockedError)
      expect(waits).toHaveLength(2)
      await sql`insert into marks (id) values ('during')`.execute(db)
    })
    await run()
    const { rows } =
      await sql`select indisvalid from pg_index where indexrelid = 'marks_by_text'::regclass`.execute(db)
    expect(rows).toEqual([{ indisvalid: true }])
  })

  test('the lock is that of a transaction, which a pooler leaves on one connection', async () => {
    const { db } = await openMigrated()
    const findHolders = async (assertLocked: () => Promise<void>) => {
      await assertLocked()
      const { rows } = await sql`select state, backend_xmin from pg_stat_activity
        where datname = current_database() and pid in (select pid from pg_locks where locktype = 'advisory')`.execute(
        db,
      )
      return rows
    }
    const holders = await withMigrationLock(db as Kysely<unknown>, () => undefined, findHolders)
    expect(holders).toEqual([{ state: 'idle in transaction', backend_xmin: null }])
    expect(await findHolders(async () => undefined)).toEqual([])
  })

  test('an index that two partitions would share is not taken for finished', async () => {
    const { db } = await openMigrated()
    await sql`create table marks (id text, text text) partition by list (id)`.execute(db)
    for (const id of ['a', 'b'])
      await sql.raw(`create table marks_${id} partition of marks for values in ('${id}')`).execute(db)
    const name = `marks_${'x'.repeat(50)}`
    declare({ '900-marks': { steps: [createIndex({ name, table: 'marks', columns: ['text'] })] } })
    const { progress } = recordProgress()
    const running = migrateOnline(db as Kysely<unknown>, { nodeTimeoutMs, progress, limits })
    await expect(running).rejects.toThrow('is not on every partition of marks')
  })

  test('a statement that would stop requests for too long is undone, but not while no node serves', async () => {
    const { db } = await openMigrated()
    await createMarks(db)
    const transact = (isServed: boolean) =>
      transactBounded(db as Kysely<unknown>, { limits, isServed, onWait: () => undefined }, async (tx) => {
        await sql`alter table marks add column slow text`.execute(tx)
        await sql`select pg_sleep(0.3)`.execute(tx)
      })
    expect(await transact(true).catch((error: Error) => error.message)).toContain('A statement took longer')
    await transact(false)
    await sql`select slow from marks limit 1`.execute(db)
  })

  test('an index of a partitioned table is built on each partition', async () => {
    const { db } = await openMigrated()
    await sql`create table parts (id text, month text) partition by list (month)`.execute(db)
    for (const month of ['a', 'b'])
      await sql.raw(`create table parts_${month} partition of parts for values in ('${month}')`).execute(db)
    const index = { name: 'parts_by_id', table: 'parts', columns: ['id'] }
    declare({ '900-parts': { steps: [createIndex(index)] } })
    const { progress } = recordProgress()
    await migrateOnline(db as Kysely<unknown>, { nodeTimeoutMs, progress })
    const { rows } = await sql`select indexrelid::regclass::text as name, indisvalid from pg_index
      where indrelid::regclass::text like 'parts%' order by 1`.execute(db)
    expect(rows).toEqual(
      ['parts_by_id', 'parts_by_id_parts_a', 'parts_by_id_parts_b'].map((name) => ({
        name,
        indisvalid: true,
      })),
    )
  })
})
