import { expect, test } from 'bun:test'
import { type KyselyPlugin, sql } from 'kysely'
import { describeOnEachDatabase, type TestServer } from '../../test/support/harness.ts'
import { listenToChanges } from '../db/db.ts'
import type { Gateway } from './gateway.ts'
import { jobs, restMs } from './jobs.ts'

/** The gateway with a database that counts its queries. */
function countQueries({ gateway }: TestServer) {
  let queries = 0
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    // Once for each query that is sent; a part of a query is transformed too.
    transformResult: async ({ result }) => {
      queries++
      return result
    },
  }
  const counted: Gateway = { ...gateway, db: gateway.db.withPlugin(counter) }
  return { counted, count: () => queries }
}

describeOnEachDatabase('jobs of a server without work', (server) => {
  // Besides one of the versions that all nodes share.
  test('run two queries a second at most', async () => {
    const { counted, count } = countQueries(server())
    const perSecond: Record<string, number> = {}
    for (const job of jobs.filter(({ name, everyMs }) => name !== 'versions' && everyMs <= 60_000)) {
      const before = count()
      const result = await job.run(counted)
      const waitMs = result === 'idle' ? Math.max(job.everyMs, restMs) : job.everyMs
      perSecond[job.name] = ((count() - before) * 1000) / waitMs
    }
    const total = Object.values(perSecond).reduce((sum, queries) => sum + queries, 0)
    expect({ perSecond, isCheap: total <= 2 }).toMatchObject({ isCheap: true })
  })

  const woken = jobs.flatMap(({ name, tables = [] }) => tables.map((table) => [name, table] as const))
  test.each(woken)(
    '%s: a change of %s by this process is noticed once it is committed',
    async (_name, table) => {
      const { db } = server().gateway
      let changes = 0
      listenToChanges(db, [table], () => changes++)
      const change = sql`delete from ${sql.table(table)} where 1 = 0`
      await db.transaction().execute(async (tx) => {
        await change.execute(tx)
        await change.execute(tx)
        expect(changes).toBe(0)
      })
      expect(changes).toBe(1)
      await change.execute(db)
      expect(changes).toBe(2)
    },
  )
})
