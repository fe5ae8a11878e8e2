import { expect, test } from 'bun:test'
import { type KyselyPlugin, sql } from 'kysely'
import { describeOnEachDatabase, type TestServer } from '../test/support/harness.ts'
import type { Gateway } from './gateway/gateway.ts'
import { jobs, listJobs, restMsOf } from './jobs.ts'
import { isPostgres, listenToChanges } from './platform/db/db.ts'

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
  // Other nodes are looked for more often than work of this one, which wakes its jobs.
  const limits = { postgres: { queries: 4, runs: 3.2 }, sqlite: { queries: 0.9, runs: 0.49 } }
  test('run few queries', async () => {
    const { counted, count } = countQueries(server())
    const perSecond: Record<string, number> = {}
    const total = { queries: 0, runs: 0 }
    for (const job of listJobs(counted)) {
      if (job.everyMs > 60_000) continue
      const before = count()
      const result = await job.run(counted)
      const perMs = 1000 / (result === 'idle' ? restMsOf(counted, job) : job.everyMs)
      perSecond[job.name] = (count() - before) * perMs
      total.queries += (count() - before) * perMs
      total.runs += perMs
    }
    const { queries, runs } = limits[isPostgres(counted.db) ? 'postgres' : 'sqlite']
    const isCheap = total.queries <= queries && total.runs <= runs
    expect({ perSecond, total, isCheap }).toMatchObject({ isCheap: true })
  })

  test('read the versions of what commands change every few seconds', () => {
    const versions = listJobs(server().gateway).find(({ name }) => name === 'versions')
    expect(versions?.everyMs).toBeLessThanOrEqual(5000)
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
