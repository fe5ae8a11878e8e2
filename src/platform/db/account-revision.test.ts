import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'kysely'
import {
  databaseKinds,
  describeOnEachDatabase,
  startTestServer,
  type TestServer,
} from '../../../test/support/harness.ts'
import { listWatchedTables } from '../../../test/support/watched-tables.ts'
import { createKey } from '../../identity/keys.ts'
import { lockOrganization } from '../../identity/organizations.ts'
import { tryLockWorkspace } from '../../identity/workspaces.ts'
import { postFunding } from '../../ledger/entries.ts'
import { newId } from '../crypto/ids.ts'
import { countedTables } from './change-counter.ts'
import { changesOf, closeDb, type Db, openDb, readAccountRevision } from './db.ts'

describeOnEachDatabase('the revision of account data', (server, kind) => {
  const db = () => server().gateway.db

  /** Returns by how much the work increases the revision. */
  async function measureIncrease(work: (db: Db) => Promise<unknown>): Promise<number> {
    const before = await readAccountRevision(db())
    await work(db())
    return (await readAccountRevision(db())) - before
  }

  const ownKey = () => ({
    organizationId: server().own.organization.id,
    workspaceId: server().own.workspace.id,
    kind: 'inference' as const,
    name: 'revised',
  })

  test('grows with an insert, an update and a delete', async () => {
    const { key } = await createKey(db(), server().clock, ownKey())
    const row = { ...key, id: undefined, hash: newId('hash') }
    expect(await measureIncrease((db) => db.insertInto('api_keys').values(row).execute())).toBe(1)
    const update = (db: Db) =>
      db.updateTable('api_keys').set({ disabled: 1 }).where('id', '=', key.id).execute()
    expect(await measureIncrease(update)).toBe(1)
    const remove = (db: Db) => db.deleteFrom('api_keys').where('hash', '=', row.hash).execute()
    expect(await measureIncrease(remove)).toBe(1)
  })

  test('does not grow with a change that is rolled back', async () => {
    const failing = (db: Db) =>
      db
        .transaction()
        .execute(async (tx) => {
          await tx.updateTable('api_keys').set({ name: 'never' }).execute()
          throw new Error('stop')
        })
        .catch(() => undefined)
    expect(await measureIncrease(failing)).toBe(0)
  })

  test('does not grow when a record is only locked', async () => {
    const { organization, workspace } = server().own
    const lock = (db: Db) =>
      db.transaction().execute(async (tx) => {
        expect(await lockOrganization(tx, organization.id)).toBeDefined()
        expect(await tryLockWorkspace(tx, organization.id, workspace.id)).toBeDefined()
      })
    expect(await measureIncrease(lock)).toBe(0)
  })

  test('grows with funding, and not with charges', async () => {
    const entry = { organizationId: server().own.organization.id, note: null, at: '2030-01-01T00:00:00.000Z' }
    const fund = (db: Db) =>
      postFunding(db, { ...entry, kind: 'grant', amount: 5n, transactionId: newId('funding') })
    expect(await measureIncrease(fund)).toBeGreaterThan(0)
    const charge = (db: Db) =>
      db
        .insertInto('ledger_entries')
        .values(
          ['credits', 'revenue'].map((account) => ({
            transaction_id: 'charge',
            organization_id: entry.organizationId,
            account,
            amount_nanos: 0n,
            kind: 'charge',
            note: null,
            created_at: entry.at,
          })),
        )
        .execute()
    expect(await measureIncrease(charge)).toBe(0)
    const compact = (db: Db) =>
      db.updateTable('ledger_entries').set({ entry_count: 2 }).where('kind', '=', 'charge').execute()
    expect(await measureIncrease(compact)).toBe(0)
    const remove = (db: Db) => db.deleteFrom('ledger_entries').where('kind', '=', 'charge').execute()
    expect(await measureIncrease(remove)).toBe(0)
  })

  test('grows with rows that are deleted because another one is', async () => {
    const { key } = await createKey(db(), server().clock, ownKey())
    const { organizationId, name } = ownKey()
    const guardrail = await server().call('POST', '/guardrails', { body: { name } })
    const body = { key_hashes: [key.hash] }
    await server().call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, { body })
    const assigned = () =>
      db().selectFrom('guardrail_keys').selectAll().where('key_id', '=', key.id).execute()
    expect(await assigned()).toHaveLength(1)
    const remove = (db: Db) =>
      db
        .deleteFrom('api_keys')
        .where('organization_id', '=', organizationId)
        .where('id', '=', key.id)
        .execute()
    expect(await measureIncrease(remove)).toBe(kind === 'postgres' ? 1 : 2)
    expect(await assigned()).toEqual([])
  })

  test('this process counts its changes of every table that increases it', async () => {
    const before = changesOf(db()).count
    const { key } = await createKey(db(), server().clock, ownKey())
    expect(changesOf(db()).count).toBeGreaterThan(before)
    const created = changesOf(db()).count
    await sql`update api_keys set name = 'raw' where id = ${key.id}`.execute(db())
    expect(changesOf(db()).count).toBe(created + 1)
    await db()
      .insertInto('instance')
      .values({ name: newId('any'), value: '' })
      .execute()
    expect(changesOf(db()).count).toBe(created + 1)
    for (const table of await listWatchedTables(db())) expect([...countedTables]).toContain(table)
  })
})

describe('the triggers of the revision on SQLite', () => {
  test('compare every column of their table', async () => {
    const { gateway, stop } = await startTestServer('sqlite')
    const { rows } = await sql<{ tbl_name: string; sql: string }>`select tbl_name, sql from sqlite_schema
      where type = 'trigger' and name like '%_revision_update'`.execute(gateway.db)
    expect(rows.length).toBeGreaterThan(10)
    const tables = await gateway.db.introspection.getTables()
    for (const trigger of rows) {
      const columns = tables.find(({ name }) => name === trigger.tbl_name)?.columns ?? []
      const compared = [...trigger.sql.matchAll(/old\."(\w+)"/g)].map(([, name]) => name)
      // If one is missing: the migration that adds a column calls `watchTable` for its table.
      expect([trigger.tbl_name, ...compared]).toEqual([trigger.tbl_name, ...columns.map(({ name }) => name)])
    }
    await stop()
  })

  test('a table whose deletions reach a watched one is counted too', async () => {
    const { gateway, stop } = await startTestServer('sqlite')
    for (const table of await listWatchedTables(gateway.db)) {
      const { rows } = await sql<{ table: string; on_delete: string }>`select "table", on_delete
        from pragma_foreign_key_list(${table})`.execute(gateway.db)
      for (const parent of rows.filter(({ on_delete }) => on_delete !== 'NO ACTION'))
        expect([...countedTables]).toContain(parent.table)
    }
    await stop()
  })
})

describe.if(databaseKinds.includes('postgres'))('the triggers of the revision on PostgreSQL', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('postgres')
  })
  afterAll(() => server.stop())

  test('increase it once in a transaction', async () => {
    const { db } = server.gateway
    const before = await readAccountRevision(db)
    await db.transaction().execute(async (tx) => {
      await tx.updateTable('api_keys').set({ name: 'one' }).execute()
      await tx.updateTable('workspaces').set({ name: 'two' }).execute()
      expect(await readAccountRevision(tx)).toBe(before)
    })
    expect(await readAccountRevision(db)).toBe(before + 1)
    await db.updateTable('api_keys').set({ name: 'again' }).execute()
    expect(await readAccountRevision(db)).toBe(before + 2)
  })

  test('a transaction that has changed something does not block others until it commits', async () => {
    const { db, config } = server.gateway
    const other = openDb(config.databaseUrl)
    const before = await readAccountRevision(db)
    await db.transaction().execute(async (tx) => {
      await tx.updateTable('api_keys').set({ name: 'first' }).execute()
      await other.updateTable('workspaces').set({ name: 'second' }).execute()
    })
    expect(await readAccountRevision(db)).toBe(before + 2)
    await closeDb(other)
  })

  test('many transactions at once all commit', async () => {
    const { db } = server.gateway
    const before = await readAccountRevision(db)
    const ids = (await db.selectFrom('api_keys').select('id').execute()).map(({ id }) => id)
    const rename = (i: number) =>
      db.transaction().execute(async (tx) => {
        const id = ids[i % ids.length] ?? 0
        await tx
          .updateTable('api_keys')
          .set({ name: `${i}` })
          .where('id', '=', id)
          .execute()
      })
    await Promise.all(Array.from({ length: 50 }, (_, i) => rename(i)))
    expect(await readAccountRevision(db)).toBe(before + 50)
  })

  test('increase it when a table is truncated, and when the search path is empty', async () => {
    const { db } = server.gateway
    const before = await readAccountRevision(db)
    await sql`truncate allowed_phrases`.execute(db)
    expect(await readAccountRevision(db)).toBe(before + 1)
    await db.transaction().execute(async (tx) => {
      await sql`set local search_path = ''`.execute(tx)
      await sql`update public.api_keys set name = 'restored'`.execute(tx)
    })
    expect(await readAccountRevision(db)).toBe(before + 2)
  })

  test('notice a change of a column that was added later', async () => {
    const { db } = server.gateway
    await sql`alter table workspaces add column later text`.execute(db)
    const before = await readAccountRevision(db)
    await sql`update workspaces set later = 'now'`.execute(db)
    expect(await readAccountRevision(db)).toBe(before + 1)
  })
})
