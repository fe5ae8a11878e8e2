import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'
import { buildGeneration, insertGenerations } from '../../../../test/support/records.ts'
import { rollUp } from '../../../analytics/rollups/roll-up.ts'
import { createKey } from '../../../identity/keys.ts'
import { createWorkspace } from '../../../identity/workspaces.ts'

interface Item {
  date: string
  model: string
  requests: number
  workspace_id?: string
}

describeOnEachDatabase('GET /activity', (server) => {
  let tenant: Tenant
  let second: string
  let key: { id: number; hash: string }
  beforeAll(async () => {
    const { db, clock } = server().gateway
    server().clock.freeze('2028-03-15T00:00:00.000Z')
    tenant = await createTenant(server().gateway, 'Active')
    const organizationId = tenant.organization.id
    const owner = { organizationId, createdBy: null }
    second = (await createWorkspace(db, clock, owner, { name: 'Second', slug: 'second' })).id
    const requested = { organizationId, workspaceId: second, kind: 'inference' as const, name: 'k' }
    key = (await createKey(db, clock, requested)).key
    const row = (created_at: string, change: Partial<Parameters<typeof buildGeneration>[1]> = {}) =>
      buildGeneration(tenant, {
        created_at,
        tokens_input: 10,
        tokens_cache_read: 5,
        tokens_output: 3,
        tokens_reasoning: 4,
        cost_nanos: 1_500_000_000n,
        upstream_cost_nanos: 1_500_000_000n,
        ...change,
      })
    await insertGenerations(db, [
      row('2028-02-13T23:59:59.999Z'),
      row('2028-02-14T00:00:00.000Z'),
      row('2028-03-14T10:00:00.000Z', { model: 'sandbox/echo:free', user_id: tenant.owner.id }),
      row('2028-03-14T23:59:59.999Z', { ended_at: '2028-03-15T00:00:09.000Z' }),
      row('2028-03-14T11:00:00.000Z', { workspace_id: second, key_id: key.id }),
      row('2028-03-14T12:00:00.000Z', { is_byok: 1, cost_nanos: 75_000_000n }),
      row('2028-03-14T12:00:00.000Z', { provider: 'nobody', endpoint: 'nobody/a', model: 'gone/model' }),
      row('2028-03-15T00:00:00.000Z'),
    ])
  })
  afterAll(() => server().clock.release())

  const items = async (query = ''): Promise<Item[]> =>
    (await server().call('GET', `/activity${query}`, { key: tenant.managementKey })).body.data
  const status = async (query: string) =>
    (await server().call('GET', `/activity${query}`, { key: tenant.managementKey })).status
  const requests = async (query: string) => (await items(query)).reduce((sum, item) => sum + item.requests, 0)

  const check = async () => {
    const found = await items()
    const summary = found.map(({ date, model, requests }) => `${date} ${model} ${requests}`)
    expect(summary[0]).toBe('2028-03-14 sandbox/echo 3')
    expect(summary.slice(1, 3).sort()).toEqual(['2028-03-14 gone/model 1', '2028-03-14 sandbox/echo:free 1'])
    expect(summary.slice(3)).toEqual(['2028-02-14 sandbox/echo 1'])
    expect(found[0]).toMatchObject({
      model_permaslug: 'sandbox/echo',
      provider_name: 'Sandbox (simulated)',
      prompt_tokens: 45,
      completion_tokens: 21,
      reasoning_tokens: 12,
      usage: 3.075,
      byok_usage_inference: 1.5,
    })
    expect(found.find((item) => item.model === 'gone/model')).toMatchObject({
      model_permaslug: 'gone/model',
      provider_name: 'nobody',
    })
    expect(found[0]).not.toHaveProperty('workspace_id')
  }

  test('R13 R23 the last 30 completed days by day, model and endpoint, before and after they are rolled up', async () => {
    await check()
    server().clock.freeze('2028-03-15T00:20:00.000Z')
    await rollUp(server().gateway, { minRows: 1 })
    await check()
  })

  test('one day, one key, one user, one workspace', async () => {
    expect(await requests('?date=2028-02-14')).toBe(1)
    expect(await requests('?date=2028-02-20')).toBe(0)
    expect(await requests(`?api_key_hash=${key.hash}`)).toBe(1)
    expect(await requests(`?user_id=${tenant.owner.id}`)).toBe(1)
    expect(await requests(`?workspace_id=${second}`)).toBe(1)
    expect(await requests(`?workspace_id=${tenant.workspace.id}&date=2028-03-14`)).toBe(4)
  })

  test('by workspace', async () => {
    const found = (await items('?group_by=workspace&date=2028-03-14')).filter(
      (item) => item.model === 'sandbox/echo',
    )
    expect(found.map(({ workspace_id, requests }) => [workspace_id, requests])).toEqual([
      [tenant.workspace.id, 2],
      [second, 1],
    ])
  })

  test('R12 400 for an invalid query, 404 for an unknown key, 403 for a workspace without access', async () => {
    for (const bad of [
      '?date=2028-02-13',
      '?date=2028-03-15',
      '?date=2028-02-30',
      '?date=yesterday',
      '?group_by=model',
      '?api_key_hash=abc',
      '?color=red',
    ]) {
      expect([bad, await status(bad)]).toEqual([bad, 400])
    }
    expect(await status(`?api_key_hash=${'0'.repeat(64)}`)).toBe(404)
    expect(await status('?user_id=user_nobody')).toBe(404)
    expect(await status(`?workspace_id=${server().foreign.workspace.id}`)).toBe(403)
  })

  test('I9 nothing of another organization', async () => {
    const { body } = await server().call('GET', '/activity', { key: server().foreign.managementKey })
    expect(body.data).toEqual([])
  })
})
