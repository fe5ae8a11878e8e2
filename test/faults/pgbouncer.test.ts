import { describe, expect, test } from 'bun:test'
import { checkLedger } from '../../src/ledger/check.ts'
import { closeDb, migrate, openDb, runInSnapshot } from '../../src/platform/db/db.ts'
import { exportRows } from '../../src/platform/db/table-export.ts'
import { createDatabase, createMigratedDatabase } from '../support/databases.ts'
import { databaseKinds } from '../support/harness.ts'
import { startTwoNodes } from '../support/nodes.ts'
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { isLong, testTimeoutMs } from './options.ts'

const requests = isLong ? 20_000 : 200
const clients = 32
/** Fewer than one server opens: every transaction may be on another one than that before. */
const connections = 4

describe.if(databaseKinds.includes('postgres') && hasPgBouncer)('PgBouncer in transaction mode', () => {
  test(
    'two nodes serve, settle and read through it',
    async () => {
      const database = await createMigratedDatabase()
      const pooler = await startPgBouncer(database.url, connections)
      const [first, second] = await startTwoNodes({ environment: { DATABASE_URL: pooler.url } })
      try {
        let sent = 0
        const client = async (index: number) => {
          const server = index % 2 === 0 ? first : second
          while (sent++ < requests) {
            const { status } = await server.call('POST', '/chat/completions', {
              key: first.own.inferenceKey,
              body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
            })
            expect(status).toBe(200)
            expect((await server.call('GET', '/generations?limit=5')).status).toBe(200)
          }
        }
        await Promise.all(Array.from({ length: clients }, (_, index) => client(index)))
        const { db } = first.gateway
        const { generations } = await db
          .selectFrom('generations')
          .select((eb) => eb.fn.countAll<number>().as('generations'))
          .executeTakeFirstOrThrow()
        expect(generations).toBe(requests)
        expect((await checkLedger(db)).findings.flatMap(({ violations }) => violations)).toEqual([])
        const exported = await runInSnapshot(db, async (tx) => {
          let rows = 0
          for await (const _ of exportRows(tx, 'generations')) rows++
          return rows
        })
        expect(exported).toBe(requests)
      } finally {
        await second.stop()
        await first.stop()
        await pooler.stop()
        await database.drop()
      }
    },
    testTimeoutMs,
  )

  test(
    'migrations run through it',
    async () => {
      const database = await createDatabase()
      const pooler = await startPgBouncer(database.url, connections)
      const db = openDb(pooler.url, { queryTimeoutMs: null })
      try {
        expect((await migrate(db)).length).toBeGreaterThan(0)
        expect(await migrate(db)).toEqual([])
      } finally {
        await closeDb(db)
        await pooler.stop()
        await database.drop()
      }
    },
    testTimeoutMs,
  )
})
