import { afterAll, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import type { Kysely } from 'kysely'
import { readCatalog } from '../scripts/released/catalog.ts'
import { compareCatalogs } from '../scripts/released/compare.ts'
import { readReleased, readReleasedStatements } from '../scripts/released/released.ts'
import { planStatements } from '../scripts/released/statements.ts'
import { closeDb, type Db, openDb, readDatabaseTime } from '../src/platform/db/db.ts'
import { migrateOffline } from '../src/platform/db/migrate/offline.ts'
import { migrateOnline } from '../src/platform/db/migrate/online.ts'
import { createDatabase, type TestDatabase } from './support/databases.ts'
import { databaseKinds } from './support/harness.ts'

const released = readReleased()
const databases: TestDatabase[] = []
afterAll(async () => {
  for (const { drop } of databases) await drop()
})

/** A database of the last release. */
async function createReleased(): Promise<string> {
  const database = await createDatabase()
  databases.push(database)
  const db = openDb(database.url)
  const target = { upTo: released.migrations.at(-1) }
  await db.transaction().execute((tx) => migrateOffline(tx as Db as Kysely<unknown>, target))
  await closeDb(db)
  return database.url
}

/** Migrates it while a node of that release serves, so that contract migrations wait. */
async function migrateAround(url: string): Promise<void> {
  const db = openDb(url)
  const seen_at = new Date(await readDatabaseTime(db)).toISOString()
  const values = { id: 'node-previous', started_at: seen_at, seen_at }
  await db
    .insertInto('nodes')
    .values(values as never)
    .execute()
  const progress = { onStep: () => undefined, onProgress: () => undefined, onWait: () => undefined }
  await migrateOnline(db as Kysely<unknown>, { nodeTimeoutMs: 30_000, progress })
  await closeDb(db)
}

async function run(url: string, statement: string): Promise<void> {
  const db = new SQL(url, { max: 1 })
  await db.unsafe(statement)
  await db.close({ timeout: 1 })
}

describe.if(databaseKinds.includes('postgres'))('the last released version', () => {
  test('R7 finds its tables, and can run its statements, after the migrations of this version', async () => {
    const url = await createReleased()
    // Released migrations do not change.
    expect(await readCatalog(url)).toEqual(released.tables)
    const statements = readReleasedStatements()
    expect(statements.length).toBeGreaterThan(500)
    expect(await planStatements(url, statements)).toEqual([])
    await migrateAround(url)
    expect(compareCatalogs(released.tables, await readCatalog(url))).toEqual([])
    expect(await planStatements(url, statements)).toEqual([])
  })

  test('changes that it could not live with are found', async () => {
    const url = await createReleased()
    const statements = readReleasedStatements()
    const check = async (...changes: string[]) => {
      for (const change of changes) await run(url, change)
      const failures = await planStatements(url, statements)
      return { problems: compareCatalogs(released.tables, await readCatalog(url)), failures: failures.length }
    }
    const dropped = await check('alter table generations drop constraint generations_pkey')
    expect(dropped.problems).toEqual(['table generations has no unique index on (id) any more'])
    // Those with `on conflict`.
    expect(dropped.failures).toBeGreaterThan(0)
    const changes: [string, string][] = [
      ['alter table api_keys drop column label', 'column api_keys.label is gone'],
      [
        'alter table generations alter column latency_ms type bigint',
        'column generations.latency_ms is bigint, and was integer',
      ],
      ['alter table nodes alter column started_at drop not null', ''],
      [
        'alter table workspaces alter column description set not null',
        'column workspaces.description is not nullable any more',
      ],
      [
        'alter table api_keys alter column disabled drop default',
        'column api_keys.disabled has no default any more',
      ],
      [
        'alter table nodes add column zone text not null',
        'column nodes.zone is new, not nullable and without a default',
      ],
      [
        "alter table nodes add constraint named check (id <> '')",
        "table nodes has a new constraint: CHECK ((id <> ''::text))",
      ],
      ['create unique index once on nodes (seen_at)', 'table nodes has a new unique index on (seen_at)'],
      ['drop table ended_sessions', 'table ended_sessions is gone'],
    ]
    const known = new Set(dropped.problems)
    for (const [change, problem] of changes) {
      const { problems } = await check(change)
      expect(problems.filter((text) => !known.has(text))).toEqual(problem === '' ? [] : [problem])
      for (const text of problems) known.add(text)
    }
  }, 60_000)
})
