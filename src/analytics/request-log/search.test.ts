import { beforeAll, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { describeOnEachDatabase, type TestServer } from '../../../test/support/harness.ts'
import { seedLargeInstallation } from '../../../test/support/large-installation.ts'
import { recordQueries } from '../../../test/support/query-plans.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import type { Db } from '../../platform/db/db.ts'
import { batchSize } from './walk.ts'

/** More than the requests that are examined before the roll-ups say where there are others. */
const size = { generations: 12_000, keys: 40, members: 20, workspaces: 4 }

interface Found {
  ids: string[]
  pages: number
}

describeOnEachDatabase('The search for few of many requests', (server) => {
  let early: { id: string; session_id: string | null; upstream_id: string | null }
  beforeAll(async () => {
    const { gateway, own } = server()
    await seedLargeInstallation(gateway, own.organization.id, size)
    // Requests of the first days, far behind those that a page examines.
    const rows = await gateway.db
      .selectFrom('generations')
      .select(['id', 'session_id', 'upstream_id'])
      .where('session_id', 'is not', null)
      .where('upstream_id', 'is not', null)
      .orderBy('created_at')
      .limit(1)
      .execute()
    early = rows[0] as typeof early
  })

  const listAll = async (query: string): Promise<Found> => {
    const found: Found = { ids: [], pages: 0 }
    for (let cursor = ''; ; ) {
      const { status, body } = await server().call('GET', `/generations?${query}&limit=100${cursor}`)
      expect([query, status]).toEqual([query, 200])
      found.pages++
      found.ids.push(...body.data.map(({ id }: { id: string }) => id))
      if (body.cursor === null) return found
      cursor = `&cursor=${encodeURIComponent(body.cursor)}`
    }
  }

  const selectIds = async ({ gateway }: TestServer, condition: string): Promise<string[]> => {
    const { rows } = await sql<{ id: string }>`select id from generations where ${sql.raw(condition)}
      order by created_at desc, id desc`.execute(gateway.db)
    return rows.map(({ id }) => id)
  }

  const cases = (): [query: string, condition: string][] => [
    ['external_user=rare-person', "external_user = 'rare-person'"],
    ['external_user=nobody', '1 = 0'],
    ['external_user=user-7,rare-person', "external_user in ('user-7', 'rare-person')"],
    ['external_user=user-7&tag=team=team-7', "external_user = 'user-7' and tags like '%team=team-7'"],
    ['app=https://app-9.example.com/&status=failed', "app_title = 'App 9' and status = 'failed'"],
    ['provider=none', '1 = 0'],
    [`key=${sha256('seed-39')}`, `key_id = (select id from api_keys where hash = '${sha256('seed-39')}')`],
    [`session_id=${early.session_id}`, `session_id = '${early.session_id}'`],
    ['session_id=none', '1 = 0'],
    [`session_id=${early.session_id},session-1`, `session_id in ('${early.session_id}', 'session-1')`],
    [`upstream_id=${early.upstream_id}`, `id = '${early.id}'`],
    ['upstream_id=none', '1 = 0'],
    ['request_id=trace-0000000000000001', "request_id = 'trace-0000000000000001'"],
    ['request_id=req_of-a-client', '1 = 0'],
  ]

  test('R35 finds exactly the requests that match, in the order of time', async () => {
    for (const [query, condition] of cases()) {
      const { ids } = await listAll(query)
      expect([query, ids]).toEqual([query, await selectIds(server(), condition)])
    }
  })

  test('R35 the histogram counts the same requests', async () => {
    const from = new Date(server().clock.now() - 40 * 86_400_000).toISOString()
    for (const [query, condition] of cases()) {
      const { body } = await server().call('GET', `/generations/histogram?${query}&from=${from}`)
      const counted = body.data.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0)
      // On a busy machine it ends earlier, and says where.
      const reached = `(${condition}) and created_at >= '${body.searched_to ?? ''}'`
      expect([query, counted]).toEqual([query, (await selectIds(server(), reached)).length])
    }
  })

  test('a request that is not rolled up yet is found', async () => {
    const { gateway, own } = server()
    const { id } = early
    await gateway.db.updateTable('generations').set({ provider: 'late' }).where('id', '=', id).execute()
    expect((await listAll('provider=late')).ids).toEqual([])
    const { id: organization_id } = own.organization
    await gateway.db
      .insertInto('unrolled_generations')
      .values({ generation_id: id, organization_id })
      .execute()
    expect((await listAll('provider=late')).ids).toEqual([id])
    await gateway.db.deleteFrom('unrolled_generations').execute()
  })

  test('an id that many requests have is searched by time', async () => {
    const { gateway } = server()
    const ids = await selectIds(server(), 'upstream_id is not null')
    const repeated = ids.slice(-batchSize - 200)
    for (let at = 0; at < repeated.length; at += 500)
      await gateway.db
        .updateTable('generations')
        .set({ upstream_id: 'chatcmpl-1', session_id: 'default' })
        .where('id', 'in', repeated.slice(at, at + 500))
        .execute()
    for (const query of ['upstream_id=chatcmpl-1', 'session_id=default'])
      expect([query, (await listAll(query)).ids]).toEqual([query, repeated])
  })

  test('a page reads few rows, wherever the requests are', async () => {
    const { gateway } = server()
    const { db } = gateway
    const count = async (query: string) => {
      const sent = await recordQueries(db, async (spy: Db) => {
        Object.assign(gateway, { db: spy })
        expect((await server().call('GET', `/generations?${query}`)).status).toBe(200)
      }).finally(() => Object.assign(gateway, { db }))
      return sent.filter(({ sql: text }) => text.includes('from "generations"')).length
    }
    for (const query of [`upstream_id=${early.upstream_id}`, `session_id=${early.session_id}`])
      expect(await count(query)).toBeLessThanOrEqual(2)
    // The newest batches, then those of the minutes that the roll-ups name.
    expect(await count('external_user=nobody')).toBeLessThan(20)
  })
})
