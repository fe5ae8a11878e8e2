import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import {
  createDatabase,
  createMigratedDatabase,
  createMigratedFile,
  type TestDatabase,
} from '../../../test/support/databases.ts'
import { type DatabaseKind, databaseKinds } from '../../../test/support/harness.ts'
import { beginSnapshot, closeDb, type Db, openDb, readRunMigrations } from './db.ts'
import { type EncodedRow, exportRows, listTables } from './table-export.ts'
import { TableImport } from './table-import.ts'

const scratch = mkdtempSync(join(tmpdir(), 'headgate-export-'))
const databases: TestDatabase[] = []
const opened: Db[] = []
afterAll(async () => {
  for (const db of opened) await closeDb(db)
  for (const database of databases) await database.drop()
  rmSync(scratch, { recursive: true })
})

async function open(kind: DatabaseKind, isEmpty: boolean): Promise<Db> {
  let url = join(scratch, `${opened.length}.sqlite`)
  if (kind === 'postgres') {
    const database = await (isEmpty ? createDatabase() : createMigratedDatabase())
    databases.push(database)
    url = database.url
  } else if (!isEmpty) await createMigratedFile(url)
  const db = openDb(url, { poolSize: 1 })
  opened.push(db)
  return db
}

async function exportAll(
  db: Db,
): Promise<{ tables: Awaited<ReturnType<typeof listTables>>; rows: string[] }> {
  const snapshot = await beginSnapshot(db)
  try {
    const tables = await listTables(snapshot)
    const rows: string[] = []
    for (const { name } of tables)
      for await (const line of exportRows(snapshot, name)) rows.push(`${name} ${line}`)
    return { tables, rows }
  } finally {
    await snapshot.rollback().execute()
  }
}

const pairs = databaseKinds.flatMap((from) => databaseKinds.map((to) => [from, to] as const))

test.each(pairs)('rows of %s are the same after they were loaded into %s', async (from, to) => {
  const source = await open(from, false)
  const bytes = Buffer.from([0, 1, 255])
  await sql`insert into organizations (id, name, created_at) values ('org', ${'Ünï "x"\n'}, '2026')`.execute(
    source,
  )
  for (const id of ['stored', 'removed'])
    await sql`insert into ledger_entries (organization_id, transaction_id, account, amount_nanos, kind, created_at)
      values ('org', ${id}, 'a', ${9_007_199_254_740_993n}, 'grant', '2026')`.execute(source)
  await sql`insert into usage_columns (segment_id, name, body) values ('s', 'c', ${bytes})`.execute(source)
  await sql`delete from ledger_entries where transaction_id = 'removed'`.execute(source)
  const exported = await exportAll(source)
  expect(exported.rows.join('')).toContain('{"number":"9007199254740993"}')
  expect(exported.rows.join('')).toContain('{"bytes":"AAH/"}')

  const target = await open(to, true)
  const migrations = (await readRunMigrations(source)).sort()
  await target.transaction().execute(async (tx) => {
    const tables = new TableImport(tx)
    await tables.createTables({ upTo: migrations.at(-1) })
    for (const line of exported.rows) {
      const at = line.indexOf(' ')
      await tables.insert(line.slice(0, at), [JSON.parse(line.slice(at)) as EncodedRow])
    }
    await tables.finish(exported.tables)
  })
  const loaded = await exportAll(target)
  expect(loaded.rows.sort()).toEqual(exported.rows.sort())
  expect((await readRunMigrations(target)).sort()).toEqual(migrations)
  // Numbers of deleted rows are not given again.
  expect(loaded.tables.find(({ name }) => name === 'ledger_entries')?.sequence).toBe(2)
  // The triggers work again.
  const revision = async () =>
    (await target.selectFrom('account_revision').select('revision').executeTakeFirstOrThrow()).revision
  const before = await revision()
  await sql`update organizations set name = 'y' where id = 'org'`.execute(target)
  expect(await revision()).toBeGreaterThan(before)
})
