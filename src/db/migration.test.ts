import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Migrator } from 'kysely/migration'
import { createDatabase, type DatabaseKind, databaseKinds } from '../../test/support/harness.ts'
import { closeDb, type Db, migrate, openDb } from './db.ts'
import { migrations } from './migrations/all.ts'

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

function migratorOf(db: Db): Migrator {
  return new Migrator({ db, provider: { getMigrations: async () => migrations } })
}

async function tablesOf(db: Db): Promise<string[]> {
  return (await db.introspection.getTables()).map(({ name }) => name).sort()
}

for (const kind of databaseKinds) {
  test(`R7 a migration that fails in its middle leaves nothing, and the next start succeeds (${kind})`, async () => {
    const db = openDb(await newDatabase(kind))
    await migratorOf(db).migrateTo('008-own-key-origin')
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
    await migratorOf(db).migrateTo('008-own-key-origin')
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
