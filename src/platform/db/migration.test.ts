import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { createDatabase } from '../../../test/support/databases.ts'
import { blankGeneration } from '../../../test/support/generations.ts'
import { type DatabaseKind, databaseKinds } from '../../../test/support/harness.ts'
import { ConfigError, readConfig } from '../../config.ts'
import { migrationLeaseMs } from '../../ledger/recovery.ts'
import { openGateway } from '../../main.ts'
import { version } from '../version.ts'
import { closeDb, type Db, migrate, openDb, readDatabaseTime } from './db.ts'
import { migrateOffline } from './migrate/offline.ts'
import { extendedHolds } from './migrations/047-extended-holds.ts'
import { type UpgradeOptions, upgrade } from './upgrade.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-migrations-'))
const drops: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const drop of drops) await drop()
  rmSync(folder, { recursive: true })
})

let count = 0
async function newDatabase(kind: DatabaseKind): Promise<string> {
  if (kind === 'sqlite') return join(folder, `${++count}.sqlite`)
  const { url, drop } = await createDatabase()
  drops.push(drop)
  return url
}

function migrateTo(db: Db, upTo: string): Promise<string[]> {
  return db.transaction().execute((tx) => migrateOffline(tx as Db as Kysely<unknown>, { upTo }))
}

async function tablesOf(db: Db): Promise<string[]> {
  return (await db.introspection.getTables()).map(({ name }) => name).sort()
}

for (const kind of databaseKinds) {
  test(`R7 a migration that fails halfway leaves nothing, and the next start succeeds (${kind})`, async () => {
    const db = openDb(await newDatabase(kind))
    await migrateTo(db, '008-own-key-origin')
    // The migration creates this table after it has changed others.
    await db.schema.createTable('meter_days').addColumn('subject', 'text').execute()
    const before = await tablesOf(db)
    expect(await migrate(db).catch((error: Error) => error.message)).toBe(
      'The database could not be migrated.',
    )
    expect(await tablesOf(db)).toEqual(before)
    await db.schema.dropTable('meter_days').execute()
    expect(await migrate(db)).toContain('009-settlement-order')
    await closeDb(db)
  })

  test(`R7 a migration whose process is killed leaves nothing, and the next start succeeds (${kind})`, async () => {
    const url = await newDatabase(kind)
    const db = openDb(url)
    await migrateTo(db, '008-own-key-origin')
    const before = await tablesOf(db)
    const script = `import { openDb, migrate } from './db.ts'
      import { migrations } from './migrations/all.ts'
            const { up } = migrations['009-settlement-order']
      migrations['009-settlement-order'] = { up: async (db) => { await up(db); process.kill(process.pid, 'SIGKILL') } }
      await migrate(openDb(${JSON.stringify(url)}))`
    const child = Bun.spawn([process.execPath, '-e', script], { cwd: resolve(import.meta.dir) })
    await child.exited
    expect(child.signalCode).toBe('SIGKILL')
    expect(await tablesOf(db)).toEqual(before)
    expect(await migrate(db)).toContain('009-settlement-order')
    await closeDb(db)
  })
}

for (const kind of databaseKinds) {
  test(`I4 an upgrade corrects interrupted requests that were recorded with part of their hold (${kind})`, async () => {
    const db = openDb(await newDatabase(kind))
    await migrate(db)
    const at = '2026-11-15T12:00:00.000Z'
    const organization = { id: 'org', name: 'org', is_operator: 0, created_at: at } as const
    await db.insertInto('organizations').values(organization).execute()
    const owner = { organization_id: 'org', workspace_id: 'w', key_id: 1 }
    const row = { ...blankGeneration, ...owner, created_at: at, ended_at: at }
    const rows = [
      { id: 'extended', flag: 'interrupted', cost_nanos: 34n, hold_nanos: 10n },
      { id: 'not-extended', flag: 'interrupted', cost_nanos: 3n, hold_nanos: 10n },
      { id: 'settled', flag: null, cost_nanos: 10n, hold_nanos: 10n },
    ] as const
    await db
      .insertInto('generations')
      .values(rows.map((values) => ({ ...row, ...values })))
      .execute()
    await extendedHolds.up(db)
    const held = await db.selectFrom('generations').select(['id', 'hold_nanos']).orderBy('id').execute()
    expect(held.map(({ id, hold_nanos }) => [id, hold_nanos])).toEqual([
      ['extended', 34n],
      ['not-extended', 10n],
      ['settled', 10n],
    ])
    await closeDb(db)
  })

  test(`a database of a newer version is named with that version, and not changed (${kind})`, async () => {
    const url = await newDatabase(kind)
    const db = openDb(url)
    const { log } = recordLog()
    await upgrade(db, { url, nodeTimeoutMs, log })
    const timestamp = new Date().toISOString()
    await sql`insert into kysely_migration (name, timestamp) values ('999-later', ${timestamp})`.execute(db)
    const refuse = () => upgrade(db, { url, nodeTimeoutMs, log }).catch((error: Error) => error.message)
    await db.updateTable('instance').set({ value: '99.1.0' }).where('name', '=', 'migrated_by').execute()
    expect(await refuse()).toBe(
      `it was migrated by Headgate 99.1.0 (schema 999-later), and this is Headgate ${version}. Start version 99.1.0 or a newer one.`,
    )
    await db.deleteFrom('instance').where('name', '=', 'migrated_by').execute()
    expect(await refuse()).toContain('it was migrated by a newer version of Headgate (schema 999-later)')
    await closeDb(db)
  })
}

/** Node heartbeats are younger than this, or their node has stopped. */
const nodeTimeoutMs = migrationLeaseMs

/** A database of an earlier version. */
async function leaveEarlierVersion(url: string): Promise<Db> {
  const db = openDb(url)
  await migrateTo(db, '008-own-key-origin')
  return db
}

async function leaveHeartbeat(db: Db, id: string, ageMs: number): Promise<void> {
  const seen_at = new Date((await readDatabaseTime(db)) - ageMs).toISOString()
  await db.insertInto('nodes').values({ id, started_at: seen_at, seen_at }).execute()
}

function recordLog() {
  const lines: string[] = []
  const { promise: started, resolve } = Promise.withResolvers<void>()
  const info = (_: unknown, text: string) => {
    lines.push(text)
    resolve()
  }
  return { lines, started, log: { info } as UpgradeOptions['log'] }
}

test('R7 the migration of an earlier version is logged, that of a new database is not', async () => {
  const url = await newDatabase('sqlite')
  const earlier = recordLog()
  const db = await leaveEarlierVersion(url)
  await upgrade(db, { url, nodeTimeoutMs, log: earlier.log })
  expect(earlier.lines).toEqual(['database migration started', 'database migration finished'])
  await upgrade(db, { url, nodeTimeoutMs, log: earlier.log })
  expect(earlier.lines).toHaveLength(2)
  expect(await migrate(db)).toEqual([])
  await closeDb(db)
  const fresh = recordLog()
  const other = await newDatabase('sqlite')
  const empty = openDb(other)
  await upgrade(empty, { url: other, nodeTimeoutMs, log: fresh.log })
  expect(fresh.lines).toEqual([])
  expect(await migrate(empty)).toEqual([])
  await closeDb(empty)
})

describe.if(databaseKinds.includes('postgres'))('an upgrade on PostgreSQL', () => {
  test('R7 may take longer than a request waits for the database', async () => {
    const url = await newDatabase('postgres')
    const db = await leaveEarlierVersion(url)
    const impatient = openDb(url, { queryTimeoutMs: 2500 })
    const { started, log } = recordLog()
    const locked = Promise.withResolvers<void>()
    const waited = Promise.withResolvers<void>()
    const locking = db.transaction().execute(async (tx) => {
      await sql`lock table generations in access exclusive mode`.execute(tx)
      locked.resolve()
      await waited.promise
    })
    await locked.promise
    const upgrading = upgrade(impatient, { url, nodeTimeoutMs, log })
    await Promise.race([started, upgrading])
    // Requests that wait for the same lock time out one by one, and so would the migration.
    for (let tries = 0; tries < 2; tries++) {
      const request = sql`select id from generations`.execute(impatient)
      expect(await request.catch((error: Error) => error.message)).toBe('the database does not respond')
    }
    waited.resolve()
    await locking
    await upgrading
    expect(await migrate(db)).toEqual([])
    await closeDb(impatient)
    await closeDb(db)
  })

  test('R16 is rejected while a node runs, and runs once all have stopped', async () => {
    const url = await newDatabase('postgres')
    const db = await leaveEarlierVersion(url)
    const { log } = recordLog()
    await leaveHeartbeat(db, 'node-killed', 2 * nodeTimeoutMs)
    await leaveHeartbeat(db, 'node-running', 1000)
    const before = await tablesOf(db)
    const refusal = await upgrade(db, { url, nodeTimeoutMs, log }).catch((error: Error) => error.message)
    expect(refusal).toContain('node-running is still running')
    expect(refusal).toContain('Stop all nodes, then start this version')
    expect(refusal).toMatch(/counts as stopped 30 s after its last heartbeat, which is in \d+ s\.$/)
    expect(await tablesOf(db)).toEqual(before)
    await db.deleteFrom('nodes').where('id', '=', 'node-running').execute()
    await upgrade(db, { url, nodeTimeoutMs, log })
    expect(await tablesOf(db)).toContain('meter_days')
    await closeDb(db)
  })

  test('R16 with nothing to migrate a node starts next to others', async () => {
    const url = await newDatabase('postgres')
    const db = openDb(url)
    const { log } = recordLog()
    await upgrade(db, { url, nodeTimeoutMs, log })
    await leaveHeartbeat(db, 'node-running', 1000)
    await upgrade(db, { url, nodeTimeoutMs, log })
    await closeDb(db)
  })

  test('a rejected start says why in one line', async () => {
    const url = await newDatabase('postgres')
    const db = await leaveEarlierVersion(url)
    await leaveHeartbeat(db, 'node-running', 1000)
    await closeDb(db)
    const config = readConfig({ HEADGATE_DATA_DIR: folder, DATABASE_URL: url, LOG_LEVEL: 'silent' })
    const error = await openGateway(config).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as ConfigError).message).toMatch(/^Cannot open the database: .*node-running.*$/)
  })
})
