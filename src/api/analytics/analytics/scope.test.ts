import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  createSessionCaller,
  createTenant,
  describeOnEachDatabase,
  type SessionCaller,
  type Tenant,
} from '../../../../test/support/harness.ts'
import { buildGeneration, insertGenerations } from '../../../../test/support/records.ts'
import { rollUp } from '../../../analytics/rollups/roll-up.ts'
import { createKey } from '../../../identity/keys.ts'
import { createWorkspace } from '../../../identity/workspaces.ts'

const day = '2028-03-14'
const dimensions = [
  'model',
  'variant',
  'api_key_id',
  'user',
  'workspace',
  'app',
  'generation_id',
  'provider',
  'origin',
  'country',
  'finish_reason',
  'external_user',
  'context_length_bucket',
]

interface Row {
  request_count: number
}

describeOnEachDatabase('the usage that a limited caller sees', (server) => {
  let tenant: Tenant
  /** A member of `own`, an admin of `all`, and no longer in `none`. */
  let member: SessionCaller
  const workspaces = { own: '', all: '', none: '' }
  let hiddenId = ''
  let hiddenHash = ''

  beforeAll(async () => {
    const { gateway, clock } = server()
    const { db } = gateway
    clock.freeze('2028-03-15T12:00:00.000Z')
    tenant = await createTenant(gateway, 'Limited')
    const owner = { organizationId: tenant.organization.id, createdBy: null }
    for (const name of ['own', 'all', 'none'] as const)
      workspaces[name] = (await createWorkspace(db, clock, owner, { name, slug: `limited-${name}` })).id
    member = await createSessionCaller(server(), {
      tenant,
      workspaces: { [workspaces.own]: 'member', [workspaces.all]: 'admin' },
    })
    // A request by the member, or by another, in each workspace; every sum of the counts is different.
    const counts = { own: [1, 2], all: [4, 8], none: [16, 32] }
    for (const [name, [mine = 0, others = 0]] of Object.entries(counts)) {
      const workspace_id = workspaces[name as keyof typeof workspaces]
      for (const [user_id, count] of [
        [member.member.id, mine],
        [tenant.owner.id, others],
      ] as const) {
        const scope = { organizationId: tenant.organization.id, workspaceId: workspace_id, name: 'k' }
        const { key } = await createKey(db, clock, { ...scope, kind: 'inference', creatorUserId: user_id })
        const rows = Array.from({ length: count }, (_, at) =>
          buildGeneration(tenant, {
            created_at: `${day}T${String(at % 24).padStart(2, '0')}:30:00.000Z`,
            ...{ workspace_id, user_id, key_id: key.id, tokens_input: 1 },
          }),
        )
        await insertGenerations(db, rows)
        if (name === 'none') [hiddenId, hiddenHash] = [rows[0]?.id ?? '', key.hash]
      }
    }
  })
  afterAll(() => server().clock.release())

  const time_range = { start: `${day}T00:00:00Z`, end: '2028-03-15T00:00:00Z' }
  const query = async (body: Record<string, unknown>, caller = member): Promise<Row[]> => {
    const sent = { metrics: ['request_count'], time_range, ...body }
    const response = await caller.call('POST', '/analytics/query', { body: sent })
    expect(response.status).toBe(200)
    // Queries are limited per minute.
    server().clock.advance(1000)
    return response.body.data.data
  }
  const count = (rows: Row[]) => rows.reduce((sum, row) => sum + row.request_count, 0)

  const checkAll = () => {
    /** One of their own, and all twelve of the workspace they administer. */
    const visible = 13

    test.each(dimensions)('S2 by %s', async (dimension) => {
      expect(count(await query({ dimensions: [dimension] }))).toBe(visible)
    })

    test.each(['minute', 'hour', 'day', 'week', 'month'])('by %s', async (granularity) => {
      const short = { start: `${day}T00:00:00Z`, end: `${day}T03:00:00Z` }
      const range = granularity === 'minute' ? { time_range: short } : {}
      const expected = granularity === 'minute' ? 1 + 3 + 3 : visible
      expect(count(await query({ granularity, ...range }))).toBe(expected)
      expect(count(await query({ granularity, dimensions: ['workspace'], ...range }))).toBe(expected)
    })

    test('with totals, percentiles and the largest groups', async () => {
      expect(count(await query({}))).toBe(visible)
      expect(count(await query({ metrics: ['request_count', 'p50_latency'] }))).toBe(visible)
      const largest = { dimensions: ['workspace', 'user'], group_limit: 1, granularity: 'day' }
      expect(await query(largest)).toMatchObject([{ request_count: 8 }])
    })

    test('filters cannot widen it', async () => {
      const filter = async (field: string, operator: string, value: unknown, extra = {}) =>
        count(await query({ filters: [{ field, operator, value, ...extra }] }))
      const { own, all, none } = workspaces
      expect(await filter('workspace', 'in', [own, all, none])).toBe(visible)
      expect(await filter('workspace', 'eq', none)).toBe(0)
      expect(await filter('workspace', 'neq', all)).toBe(1)
      expect(await filter('workspace', 'not_in', [all], { include_unset: true })).toBe(1)
      expect(await filter('workspace', 'gte', '')).toBe(visible)
      expect(await filter('user', 'eq', tenant.owner.id)).toBe(8)
      expect(await filter('user', 'neq', member.member.id)).toBe(8)
      expect(await filter('api_key_id', 'eq', hiddenHash)).toBe(0)
      expect(await filter('generation_id', 'eq', hiddenId)).toBe(0)
      expect(await filter('generation_id', 'in', [hiddenId, 'gen-x'])).toBe(0)
    })

    test('GET /activity', async () => {
      const read = async (search = '') => {
        const { data } = (await member.call('GET', `/activity${search}`)).body
        return data as { requests: number; workspace_id?: string }[]
      }
      const sum = async (search?: string) =>
        (await read(search)).reduce((total, { requests }) => total + requests, 0)
      expect(await sum()).toBe(visible)
      expect(await sum(`?user_id=${tenant.owner.id}`)).toBe(8)
      expect(await sum(`?workspace_id=${workspaces.own}`)).toBe(1)
      const groups = (await read('?group_by=workspace')).map(({ workspace_id, requests }) => [
        workspace_id,
        requests,
      ])
      expect(new Map(groups as [string, number][])).toEqual(
        new Map([
          [workspaces.own, 1],
          [workspaces.all, 12],
        ]),
      )
      for (const search of [`?workspace_id=${workspaces.none}`, `?api_key_hash=${hiddenHash}`]) {
        const refused = await member.call('GET', `/activity${search}`)
        expect(refused.status).toBe(403)
        expect(refused.body.error.message).toContain('activity:read')
      }
    })

    test('a management key that is limited to a workspace', async () => {
      const { gateway, call } = server()
      const scope = { organizationId: tenant.organization.id, workspaceId: tenant.workspace.id, name: 'k' }
      const { key, secret } = await createKey(gateway.db, server().clock, { ...scope, kind: 'management' })
      const workspace_ids = JSON.stringify([workspaces.all])
      await gateway.db.updateTable('api_keys').set({ workspace_ids }).where('id', '=', key.id).execute()
      const body = { metrics: ['request_count'], time_range }
      const limited = await call('POST', '/analytics/query', { key: secret, body })
      expect(limited.body.data.data).toEqual([{ request_count: 12 }])
      const all = await call('POST', '/analytics/query', { key: tenant.managementKey, body })
      expect(all.body.data.data).toEqual([{ request_count: 63 }])
    })
  }

  describe('before it is rolled up', checkAll)
  describe('from the roll-ups', () => {
    beforeAll(async () => {
      await rollUp(server().gateway, { minRows: 1, maxRows: 200 })
    })
    checkAll()
  })
})
