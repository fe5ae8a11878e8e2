import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import { blankGeneration, insertGeneration } from '../../../../test/support/generations.ts'
import {
  createTenant,
  describeOnEachDatabase,
  type Tenant,
  type TestServer,
} from '../../../../test/support/harness.ts'
import {
  explainQuery,
  recordQueries,
  runExplain,
  type SentQuery,
} from '../../../../test/support/query-plans.ts'
import type { RefusedRow } from '../../../analytics/request-log/walk.ts'
import { batchSize, maxBatches, readLogPage } from '../../../analytics/request-log/walk.ts'
import { deleteOldRefusals } from '../../../analytics/rollups/retention.ts'
import { insertLine } from '../../../ledger/bill-lines.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { newTimeOrderedHex } from '../../../platform/crypto/ids.ts'

describeOnEachDatabase('GET /generations', (server, kind) => {
  const list = async (query = '', key?: string) => {
    const response = await server().call('GET', `/generations?${query}`, key === undefined ? {} : { key })
    return { ...response, ids: response.body.data?.map(({ id }: { id: string }) => id) }
  }

  test('include_lines adds turns, tools and nested requests to the entries', async () => {
    const tenant = await createTenant(server().gateway, 'Lines')
    const { db } = server().gateway
    for (const n of [1, 2]) await insertGeneration(server().gateway, tenant, { id: `gen-lines-${n}` })
    const line = {
      usage: null,
      cost: 5_000_000n,
      durationMs: 12,
      quantity: 1,
      provider: null,
      nestedId: null,
    }
    await insertLine(db, 'gen-lines-1', 0, { ...line, kind: 'tool', name: 'web_search' })
    await insertLine(db, 'gen-lines-1', 1, { ...line, kind: 'request', name: 'a/b', nestedId: 'gen-lines-2' })
    const read = async (query: string) => (await list(query, tenant.managementKey)).body.data
    const [second, first] = await read('include_lines=true')
    expect([first.id, second.id, second.lines]).toEqual(['gen-lines-1', 'gen-lines-2', []])
    expect(first.lines).toMatchObject([
      { kind: 'tool', name: 'web_search', cost: 0.005, duration: 12, generation_id: null },
      { kind: 'request', name: 'a/b', generation_id: 'gen-lines-2' },
    ])
    expect(await read('')).not.toContainEqual(expect.objectContaining({ lines: expect.anything() }))
  })

  test('a failed entry has what the provider said last, but not of an account of somebody else', async () => {
    const { gateway, own } = server()
    const tenant = await createTenant(gateway, 'Failures')
    const attempt = (code: string, message: string, more = {}) => ({
      code,
      message,
      provider: 'Acme',
      ...more,
    })
    const rows = {
      'gen-said-1': ['failed', attempt('server', 'Out of memory'), attempt('timeout', 'Too slow')],
      'gen-said-2': ['failed', attempt('authentication', 'Wrong key of Ada')],
      'gen-said-3': ['failed', attempt('authentication', 'Wrong key of yours', { own_key: true })],
      'gen-said-4': ['failed', attempt('server', 'It broke off', { in_reply: true })],
      'gen-said-5': ['completed', attempt('server', 'Out of memory')],
      'gen-said-6': ['failed'],
    } as const
    const said = async (owner: Tenant, prefix: string) => {
      for (const [id, [status, ...attempts]] of Object.entries(rows))
        await insertGeneration(gateway, owner, {
          id: prefix + id,
          status,
          attempts: JSON.stringify(attempts),
        })
      const entries = (await list('status=completed,failed&limit=100', owner.managementKey)).body.data
      const messages = new Map(
        entries.map(({ id, message }: { id: string; message: string | null }) => [id, message]),
      )
      return Object.keys(rows).map((id) => messages.get(prefix + id))
    }
    const others = ['Too slow', null, 'Wrong key of yours', 'It broke off', null, null]
    expect(await said(tenant, 'tenant-')).toEqual(others)
    expect(await said(own, 'own-')).toEqual(others.with(1, 'Wrong key of Ada'))
  })

  test('R35 every filter, alone and combined, newest first', async () => {
    const tenant = await createTenant(server().gateway, 'Filters')
    const { gateway } = server()
    const insert = (n: number, changes = {}) =>
      insertGeneration(gateway, tenant, {
        id: `gen-${n}`,
        created_at: `2030-01-0${n}T00:00:00.000Z`,
        ended_at: `2030-01-0${n}T00:00:01.000Z`,
        ...changes,
      })
    await insert(1, {
      user_id: tenant.owner.id,
      cost_nanos: 2_000_000_000n,
      session_id: 's1',
      streamed: 1,
      upstream_id: 'up-1',
    })
    await insert(2, {
      status: 'failed',
      error_code: 'upstream_failed',
      latency_ms: 5000,
      usage_source: 'none',
      tags: 'project=apollo',
    })
    await insert(3, {
      status: 'cancelled',
      requested_model: '~acme/latest',
      app_url: 'https://a.example',
      tags: 'project=apollo\nteam=red',
    })
    await insert(4, {
      is_byok: 1,
      dialect: 'messages',
      preset_id: 'p1',
      request_id: 'mine',
      app_title: 'A',
      external_user: 'Doe, J.',
    })
    await insertRefused(server(), tenant, { id: 'gen-5', created_at: '2030-01-05T00:00:00.000Z' })
    const { managementKey } = tenant
    const hash = sha256(tenant.inferenceKey)
    const keyName = (await list('', managementKey)).body.data[0].key.name
    for (const [query, numbers] of [
      ['', [5, 4, 3, 2, 1]],
      ['from=2030-01-02T00:00:00Z&to=2030-01-05T00:00:00Z', [4, 3, 2]],
      ['model=sandbox/echo', [5, 4, 3, 2, 1]],
      ['model=~acme/latest', [3]],
      ['provider=sandbox', [4, 3, 2, 1]],
      ['provider=nobody', []],
      [`key=${hash}`, [5, 4, 3, 2, 1]],
      [`user_id=${tenant.owner.id}`, [1]],
      [`workspace_id=${tenant.workspace.id}&status=failed`, [2]],
      ['status=completed', [4, 1]],
      ['status=refused', [5]],
      ['status=failed,refused', [5, 2]],
      ['error_code=upstream_failed', [2]],
      ['error_code=key_limit_reached', [5]],
      ['format=messages', [4]],
      ['app=https://a.example', [3]],
      ['app=A', [4]],
      ['session_id=s1', [1]],
      ['preset=p1', [4]],
      ['streamed=true', [1]],
      ['streamed=false&status=completed', [4]],
      ['is_byok=true', [4]],
      ['min_cost=0.5', [1]],
      ['min_latency=5000', [2]],
      ['id=gen-3', [3]],
      ['id=gen-5', [5]],
      ['id=gen-3&status=failed', []],
      ['request_id=mine', [4]],
      ['request_id=other', []],
      ['model=*ECHO*', [5, 4, 3, 2, 1]],
      ['model=~acme/*,nothing', [3]],
      ['model=!~acme*', [5, 4, 2, 1]],
      ['model=sandbox/*,!~acme/latest', [5, 4, 2, 1]],
      ['model=sand_ox/*', []],
      ['provider=!sandbox', [5]],
      ['provider=nobody,sandbox', [4, 3, 2, 1]],
      ['status=error', [5, 2]],
      ['status=!error', [4, 3, 1]],
      ['status=502', [2]],
      ['status=cancelled,403', [5, 3]],
      ['status=!403,!completed', [3, 2]],
      ['error_code=!upstream_failed', [5, 4, 3, 1]],
      ['external_user=!nobody&session_id=!s1', [5, 4, 3, 2]],
      ['external_user=Doe%5C,%20J.', [4]],
      ['tag=project=apollo', [3, 2]],
      ['tag=apollo', [3, 2]],
      ['tag=team', [3]],
      ['tag=apollo,!team', [2]],
      ['tag=apoll', []],
      ['max_cost=0.5', [5, 4, 3, 2]],
      ['max_cost=0.5&min_cost=0.00001', [4, 3, 2]],
      ['max_latency=4999&status=!completed', [5, 3]],
      ['upstream_id=up-1', [1]],
      [`key=${keyName}`, [5, 4, 3, 2, 1]],
      [`key=${keyName.slice(0, 3).toUpperCase()}*`, [5, 4, 3, 2, 1]],
      [`key=!${keyName}`, []],
      [`workspace_id=!${tenant.workspace.id}`, []],
    ] as const) {
      const { status, ids } = await list(query, managementKey)
      expect({ query, status, ids }).toEqual({ query, status: 200, ids: numbers.map((n) => `gen-${n}`) })
    }
    const { body } = await list('', managementKey)
    const path = '/generations/histogram?from=2030-01-01T00:00:00Z&to=2030-01-06T00:00:00Z&buckets=5'
    const counted = (await server().call('GET', path, { key: managementKey })).body
    expect(counted.searched_to).toBeNull()
    expect(counted.data.map(({ start, ...counts }: { start: string }) => Object.values(counts))).toEqual([
      [1, 0, 0, 0, 2],
      [1, 1, 0, 0, 0.00003],
      [1, 0, 1, 0, 0.00003],
      [1, 0, 0, 0, 0.00003],
      [3, 0, 0, 3, 0],
    ])
    expect(body.data[0]).toMatchObject({
      status: 'refused',
      error_code: 'key_limit_reached',
      message: 'The daily limit of this key is reached.',
      requested_model: 'sandbox/echo',
      model: null,
      attempts: 0,
      cost: 0,
      requests: 3,
    })
    expect(body.data[3]).toMatchObject({ status: 'failed', tokens_prompt: null, attempts: 1 })
    expect(body.data[4]).toMatchObject({
      key: { hash },
      user: { id: tenant.owner.id },
      workspace: { id: tenant.workspace.id },
      tokens_prompt: 10,
      tokens_completion: 20,
      cost: 2,
      streamed: true,
    })
    expect((await list('', tenant.inferenceKey)).body.data[4].user).toEqual({
      id: tenant.owner.id,
      name: null,
    })
  })

  test('R37 pages continue where they ended, and show nothing of other organizations', async () => {
    const tenant = await createTenant(server().gateway, 'Pages')
    const same = '2030-02-01T00:00:00.000Z'
    for (let n = 0; n < 5; n++)
      await insertGeneration(server().gateway, tenant, { id: `gen-page-${n}`, created_at: same })
    await insertRefused(server(), tenant, { id: 'gen-page-25', created_at: same })
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = cursor === '' ? 'limit=2' : `limit=2&cursor=${encodeURIComponent(cursor)}`
      const page: Awaited<ReturnType<typeof list>> = await list(query, tenant.managementKey)
      seen.push(...page.ids)
      cursor = page.body.cursor
    }
    expect(seen).toEqual(['4', '3', '25', '2', '1', '0'].map((n) => `gen-page-${n}`))
    const first = (await list('limit=2', tenant.managementKey)).body.cursor
    const { foreign } = server()
    expect((await list(`cursor=${encodeURIComponent(first)}`, foreign.managementKey)).status).toBe(400)
    expect((await list('id=gen-page-1', foreign.managementKey)).ids).toEqual([])
    expect((await list(`key=${sha256(tenant.inferenceKey)}`, foreign.managementKey)).status).toBe(404)
  })

  test('refused requests and routing decisions are deleted with the generations of their time', async () => {
    const { gateway } = server()
    const { db } = gateway
    const tenants = [await createTenant(gateway, 'Old 1'), await createTenant(gateway, 'Old 2')]
    for (const tenant of tenants)
      for (const day of ['01', '20'])
        await insertRefused(server(), tenant, { created_at: `2032-01-${day}T00:00:00.000Z` })
    await db
      .insertInto('routing_plans')
      .values([
        { id: '2032-01-01-a', content: '{}' },
        { id: '2032-01-20-a', content: '{}' },
      ])
      .execute()
    const clock = { now: () => Date.parse('2032-01-25T00:00:00Z') }
    const countLeft = async () => {
      const pages = await Promise.all(tenants.map(({ managementKey }) => list('', managementKey)))
      return pages.map(({ ids }) => ids.length)
    }
    await deleteOldRefusals({ db, clock }, null)
    expect(await countLeft()).toEqual([2, 2])
    await deleteOldRefusals({ db, clock }, 10)
    expect(await countLeft()).toEqual([1, 1])
    const plans = await db.selectFrom('routing_plans').select('id').where('id', '>', '2032').execute()
    expect(plans).toEqual([{ id: '2032-01-20-a' }])
  })

  test('invalid filters are 400', async () => {
    for (const query of [
      'status=lost',
      'from=yesterday',
      'from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z',
      'limit=101',
      'limit=0',
      'cursor=x',
      'min_cost=-1',
      'min_latency=1.5',
      'status=200',
      'model=!',
      'workspace_id=none',
      'tag=A%20B=c',
      'streamed=maybe',
      'color=red',
    ])
      expect([query, (await list(query)).status]).toEqual([query, 400])
  })

  test('a page examines a bounded number of rows through an index, whatever the filters', async () => {
    const tenant = await createTenant(server().gateway, 'Many')
    const count = batchSize * 3
    await fill(server(), tenant, count)
    if (kind === 'postgres') await sql`analyze generations`.execute(server().gateway.db)
    const base = { organizationId: tenant.organization.id, id: null, from: null, to: null, refused: [] }
    const never = [{ columns: ['session_id'], values: ['none'] }]
    const period = { from: '2029-01-01T00:00:00.000Z', to: '2030-01-01T00:00:00.000Z' }
    for (const [isUnsuccessful, limits] of [
      [false, {}],
      [true, {}],
      [false, period],
    ] as const) {
      const selection = { ...base, ...limits, generations: never, isUnsuccessful, visible: null }
      const queries = await recordQueries(server().gateway.db, (db) =>
        readLogPage(db, selection, { limit: 50, start: null }),
      )
      expect(queries.length).toBeLessThanOrEqual(4 * maxBatches)
      const index = isUnsuccessful ? 'generations_unsuccessful' : 'generations_by_time'
      for (const query of queries.filter(({ sql: text }) => text.includes('from "generations"'))) {
        const plan = await explainQuery(server().gateway.db, query)
        expect(plan).toContain(index)
        expect(plan).not.toMatch(/temp b-tree|Seq Scan/i)
        expect(query.sql).toMatch(/limit/)
        // SQLite would seek to one of two bounds, and read all rows between them.
        for (const bound of [/>=/g, /<(?![=>])/g])
          expect(query.sql.match(bound)?.length ?? 0).toBeLessThanOrEqual(1)
      }
      if (kind === 'postgres') expect(await countExamined(server(), queries)).toBeLessThanOrEqual(2 * count)
    }
    const found = await list('session_id=none', tenant.managementKey)
    expect(found.body).toEqual({ data: [], cursor: null, searched_to: null })
  })
})

async function insertRefused({ gateway }: TestServer, tenant: Tenant, changes: Partial<RefusedRow>) {
  const key = await gateway.db
    .selectFrom('api_keys')
    .select(['id', 'organization_id', 'workspace_id'])
    .where('hash', '=', sha256(tenant.inferenceKey))
    .executeTakeFirstOrThrow()
  const row: RefusedRow = {
    id: `gen-${newTimeOrderedHex()}`,
    organization_id: key.organization_id,
    workspace_id: key.workspace_id,
    key_id: key.id,
    user_id: null,
    created_at: '2030-01-01T00:00:00.000Z',
    error_code: 'key_limit_reached',
    http_status: 403,
    message: 'The daily limit of this key is reached.',
    details: '{}',
    requested_model: 'sandbox/echo',
    dialect: 'chat',
    api_type: 'completions',
    streamed: 0,
    latency_ms: 1,
    preset_id: null,
    session_id: null,
    app_url: null,
    app_title: null,
    external_user: null,
    tags: null,
    request_id: null,
    routing_plan_id: null,
    requests: 3,
    ...changes,
  }
  await gateway.db.insertInto('refused_requests').values(row).execute()
}

/** One in ten failed. */
async function fill({ gateway }: TestServer, tenant: Tenant, count: number): Promise<void> {
  const { organization, workspace } = tenant
  const ids = { organization_id: organization.id, workspace_id: workspace.id, key_id: 1 }
  const start = Date.parse('2029-01-01T00:00:00Z')
  for (let from = 0; from < count; from += 200) {
    const rows = Array.from({ length: 200 }, (_, n) => {
      const at = new Date(start + (from + n) * 1000).toISOString()
      const status = (from + n) % 10 === 0 ? ('failed' as const) : ('completed' as const)
      return {
        ...blankGeneration,
        ...ids,
        id: `gen-${newTimeOrderedHex()}`,
        created_at: at,
        ended_at: at,
        status,
      }
    })
    await gateway.db.insertInto('generations').values(rows).execute()
  }
}

/** The rows that the scans of all queries together returned or removed. */
async function countExamined({ gateway }: TestServer, queries: readonly SentQuery[]): Promise<number> {
  let examined = 0
  for (const query of queries) {
    const plan = await runExplain(gateway.db, 'explain (analyze, costs off, timing off)', query)
    for (const [, rows] of plan.matchAll(
      /(?:(?<!Bitmap )Index|Index Only|Bitmap Heap) Scan [^"]*rows=(\d+)/g,
    ))
      examined += Number(rows)
    for (const [, rows] of plan.matchAll(/Rows Removed by Filter: (\d+)/g)) examined += Number(rows)
  }
  return examined
}
