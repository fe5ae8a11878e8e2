import { beforeAll, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { loadOwnerAccount } from '../src/identity/owners.ts'
import { sha256 } from '../src/platform/crypto/crypto.ts'
import { describeOnEachDatabase, type TestServer } from './support/harness.ts'
import { seedLargeInstallation } from './support/large-installation.ts'
import { explainQuery, recordQueries, type SentQuery } from './support/query-plans.ts'

/** Tables that grow with traffic, or have as many rows as there are keys. */
const largeTables = [
  'generations',
  'refused_requests',
  'api_keys',
  'ledger_entries',
  'meters',
  'meter_days',
  'key_days',
]

const fromLargeTable = new RegExp(`(?:from|join) "?(?:${largeTables.join('|')})"?[\\s)]`)
/** Of a table, or of one of its months. */
const wholeTable = new RegExp(
  `"SCAN (?:${largeTables.join('|')})\\b|Seq Scan on (?:${largeTables.join('|')})(?:_\\w+)?\\b`,
)
/** Months that are each in order are merged without being sorted, and rows of the same time only among each other. */
const sortsAll =
  /TEMP B-TREE FOR ORDER BY|(?<!Merge Append [^\n]*\n[^\n]*)Sort Key(?![^\n]*\n[^\n]*Presorted Key: (?:\w+\.)?created_at")/

const size = { generations: 2000, keys: 300, members: 20, workspaces: 4 }
const period = 'from=2020-01-01T00:00:00Z'

const generationFilters = {
  'no filter': '',
  period,
  status: 'status=failed',
  'several statuses': 'status=failed,refused',
  'error code': 'error_code=provider_error',
  model: 'model=maker/model-1',
  provider: 'provider=provider-1',
  key: `key=${sha256('seed-4')}`,
  member: 'user_id=user_seed1',
  workspace: 'workspace_id=00000000-0000-4000-8000-000000000000',
  format: 'format=chat',
  app: 'app=none',
  session: 'session_id=none',
  cost: 'min_cost=5',
  duration: 'min_latency=100000',
  'many filters': `${period}&status=failed&model=maker/model-1&min_cost=1`,
}

const lists = [
  '/keys',
  '/keys?include_disabled=true&offset=50',
  '/keys?q=service',
  '/search?q=service',
  `/search?q=${sha256('seed-4').slice(0, 8)}`,
  `/keys/${sha256('seed-4')}`,
  '/organization/members?q=person',
  '/organization/members?ids=user_seed1,user_seed2',
  '/budgets',
  '/budgets?parent=workspace:00000000-0000-4000-8000-000000000000',
  '/budgets?parent=member:00000000-0000-4000-8000-000000000000:user_seed1',
  '/credits',
  '/credits/entries',
  '/credits/entries?kind=charge',
  '/credits/entries?kind=grant',
  '/activity',
  '/system',
]

describeOnEachDatabase('What the console reads does not grow with the installation', (server, kind) => {
  beforeAll(async () => {
    const { gateway, own } = server()
    await seedLargeInstallation(gateway, own.organization.id, size)
    // Until then PostgreSQL has to look up in the table which rows of an index are visible.
    if (kind === 'postgres') await sql`vacuum api_keys`.execute(gateway.db)
  })

  const record = async (work: () => Promise<{ status: number }>) => {
    const { gateway } = server()
    const { db } = gateway
    const queries = await recordQueries(db, async (spy) => {
      Object.assign(gateway, { db: spy })
      expect((await work()).status).toBe(200)
    }).finally(() => Object.assign(gateway, { db }))
    return queries.filter(({ sql }) => fromLargeTable.test(sql))
  }

  test.each(lists)('GET %s', async (path) => {
    await expectIndexed(server(), await record(() => server().call('GET', path)))
  })

  test.each(['/keys?offset=50', '/keys?include_disabled=true&offset=50'])(
    'GET %s skips the keys before its page in an index',
    async (path) => {
      const plans = await Promise.all(
        (await record(() => server().call('GET', path)))
          .filter(({ sql }) => / offset /.test(sql))
          .map((query) => explainQuery(server().gateway.db, query)),
      )
      expect(plans.length).toBeGreaterThan(0)
      for (const plan of plans)
        expect(plan).toMatch(/(?:COVERING INDEX|Index Only Scan[a-zA-Z ]* using) api_keys_(?:enabled_)?page/)
    },
  )

  test.each(Object.entries(generationFilters))(
    'GET /generations and its histogram: %s',
    async (_, filter) => {
      const queries = [
        ...(await record(() => server().call('GET', `/generations?${filter}`))),
        ...(await record(() => server().call('GET', `/generations/histogram?${filter}`))),
      ]
      expect(queries.length).toBeGreaterThan(0)
      await expectIndexed(server(), queries)
    },
  )

  test('what the owner of an organization has bought', async () => {
    const { gateway, own } = server()
    const queries = await recordQueries(gateway.db, (db) => loadOwnerAccount(db, own.organization.id))
    const plans = await Promise.all(
      queries.filter(({ sql }) => sql.includes('sum_nanos')).map((query) => explainQuery(gateway.db, query)),
    )
    expect(plans).toEqual([expect.stringContaining('ledger_entries_account')])
  })

  test('POST /analytics/query', async () => {
    const now = server().clock.now()
    const time_range = {
      start: new Date(now - 30 * 86_400_000).toISOString(),
      end: new Date(now).toISOString(),
    }
    const body = { metrics: ['request_count'], dimensions: ['api_key_id'], granularity: 'day', time_range }
    await expectIndexed(server(), await record(() => server().call('POST', '/analytics/query', { body })))
  })

  async function expectIndexed({ gateway }: TestServer, queries: readonly SentQuery[]): Promise<void> {
    for (const query of queries) {
      const plan = await explainQuery(gateway.db, query)
      const isBounded = / in \(| as "batch"/.test(query.sql)
      const isSorted = / limit /.test(query.sql) && !isBounded && sortsAll.test(plan)
      expect({ kind, sql: query.sql, plan, isWhole: wholeTable.test(plan), isSorted }).toMatchObject({
        isWhole: false,
        isSorted: false,
      })
    }
  }
})
