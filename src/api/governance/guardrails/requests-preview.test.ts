import { expect, test } from 'bun:test'
import { insertGeneration } from '../../../../test/support/generations.ts'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'
import { measureLoopDelay } from '../../../../test/support/loop-delay.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import type { GenerationTable } from '../../../platform/db/generation-table.ts'

type Body = Record<string, unknown>

describeOnEachDatabase('drafts of guardrails on past requests', (server) => {
  const newTenant = () => createTenant(server().gateway, `Past ${crypto.randomUUID().slice(0, 8)}`)
  const insert = (tenant: Tenant, changes: Partial<GenerationTable> = {}) =>
    insertGeneration(server().gateway, tenant, changes)
  const examine = async (
    { managementKey: key }: Pick<Tenant, 'managementKey'>,
    guardrail: Body,
    more = {},
  ) => {
    const response = await server().call('POST', '/guardrails/preview/requests', {
      key,
      body: { guardrail, ...more },
    })
    expect({ status: response.status, body: response.body }).toMatchObject({ status: 200 })
    return response.body.data
  }
  const reasoner = { requested_model: 'sandbox/reasoner', model: 'sandbox/reasoner' }

  test('counts requests to models, providers and regions that would have been rejected, and whose', async () => {
    const tenant = await newTenant()
    const echo = await insert(tenant)
    await insert(tenant, { ...reasoner, region: 'europe', user_id: tenant.owner.id })
    expect(await examine(tenant, { allowed_models: ['sandbox/reasoner'] })).toMatchObject({
      examined: 2,
      is_complete: true,
      ...{ rejected: 1, moved: 0, undecided: 0 },
      rules: [{ field: 'allowed_models', rejected: 1, moved: 0 }],
      keys: [{ api_key_hash: sha256(tenant.inferenceKey), requests: 2, rejected: 1 }],
      members: [
        { user_id: null, requests: 1, rejected: 1 },
        { user_id: tenant.owner.id, requests: 1, rejected: 0 },
      ],
      workspaces: [{ workspace_id: tenant.workspace.id, requests: 2, rejected: 1 }],
      sample: [echo],
    })
    const rejectedBy = async (guardrail: Body) => {
      const { rejected, rules } = await examine(tenant, guardrail)
      return [rejected, ...rules.map(({ field }: { field: string }) => field)]
    }
    expect(await rejectedBy({ ignored_models: ['sandbox/echo'] })).toEqual([1, 'ignored_models'])
    expect(await rejectedBy({ ignored_providers: ['sandbox'] })).toEqual([2, 'ignored_providers'])
    expect(await rejectedBy({ allowed_providers: ['sandbox'] })).toEqual([0])
    expect(await rejectedBy({ allowed_data_regions: ['europe'] })).toEqual([1, 'allowed_data_regions'])
    expect(await rejectedBy({})).toEqual([0])
  })

  test('names of aliases stand for their models', async () => {
    const tenant = await newTenant()
    const alias = { name: 'cheap', models: ['sandbox/echo'] }
    const { status } = await server().call('POST', '/model-aliases', {
      key: tenant.managementKey,
      body: alias,
    })
    expect(status).toBe(201)
    await insert(tenant)
    await insert(tenant, reasoner)
    expect(await examine(tenant, { allowed_models: ['@cheap'] })).toMatchObject({ examined: 2, rejected: 1 })
  })

  test('another endpoint of the model takes what one may not have; BYOK decides about retention', async () => {
    const tenant = await newTenant()
    const { models } = server().gateway.catalog
    const model = models.find(
      ({ endpoints: [first, second] }) =>
        second && first?.provider !== second.provider && first?.data_policy.retains,
    )
    const [first] = model?.endpoints ?? []
    if (!model || !first) throw new Error('no model has two endpoints')
    const { tag, provider } = first
    const columns = { model: model.id, requested_model: model.id, endpoint: tag, provider: provider.slug }
    await insert(tenant, { ...columns, is_byok: 1 })
    const ignored = { ignored_providers: [provider.slug] }
    expect(await examine(tenant, ignored)).toMatchObject({ rejected: 0, moved: 1, undecided: 0 })
    const zdr = await examine(tenant, { enforce_zdr: true })
    expect(zdr).toMatchObject({ rejected: 0, moved: 0, undecided: 1 })
    await insert(tenant, { ...columns, model: 'gone/model' })
    expect(await examine(tenant, {})).toMatchObject({ examined: 2, undecided: 1 })
  })

  test('a budget rejects what does not fit into its window, oldest first', async () => {
    const tenant = await newTenant()
    const dollar = 1_000_000_000n
    const today = `${new Date(server().clock.now() - 86_400_000).toISOString().slice(0, 10)}T`
    const before = `${new Date(server().clock.now() - 2 * 86_400_000).toISOString().slice(0, 10)}T`
    for (const created_at of [`${before}10:00:00.000Z`, `${today}10:00:00.000Z`, `${today}11:00:00.000Z`])
      await insert(tenant, { created_at, cost_nanos: dollar, hold_nanos: 2n * dollar })
    const last = await insert(tenant, {
      created_at: `${today}12:00:00.000Z`,
      cost_nanos: dollar,
      hold_nanos: dollar,
    })
    const rejected = async (limit_usd: number, reset_interval: string) =>
      (await examine(tenant, { limit_usd, reset_interval }, { days: 7 })).rejected
    expect(await rejected(3, 'daily')).toBe(0)
    // The second of the day would have held more than what was left.
    expect(await rejected(2, 'daily')).toBe(1)
    const totals = await examine(tenant, { limit_usd: 1, reset_interval: 'daily' })
    // The first two of the day do not fit, and the last one does.
    expect(totals).toMatchObject({ rejected: 3, rules: [{ field: 'limit_usd', rejected: 3 }] })
    expect(totals.sample).not.toContain(last)
    // BYOK requests count if the budget says so.
    const byok = { cost_nanos: 0n, upstream_cost_nanos: 50n * dollar, is_byok: 1 as const }
    await insert(tenant, { ...byok, created_at: `${before}09:00:00.000Z` })
    expect(await rejected(4, 'daily')).toBe(0)
    const counting = { limit_usd: 4, reset_interval: 'daily', include_byok_in_budgets: true }
    expect((await examine(tenant, counting)).rejected).toBe(1)
  })

  test('only requests of those that the guardrail is assigned to, in the period, up to the maximum', async () => {
    const tenant = await newTenant()
    const { managementKey: key } = tenant
    const { id } = (await server().call('POST', '/guardrails', { key, body: { name: 'Rules' } })).body.data
    await insert(tenant, { created_at: new Date(server().clock.now() - 20 * 86_400_000).toISOString() })
    for (let count = 0; count < 3; count++) await insert(tenant)
    await insert(tenant, { user_id: tenant.owner.id })
    const draft = { allowed_models: ['sandbox/reasoner'] }
    const examined = async (more: Body) => (await examine(tenant, draft, more)).examined
    expect(await examined({ guardrail_id: id })).toBe(0)
    const members = { member_user_ids: [tenant.owner.id] }
    await server().call('POST', `/guardrails/${id}/assignments/members`, { key, body: members })
    expect(await examined({ guardrail_id: id })).toBe(1)
    const keys = { key_hashes: [sha256(tenant.inferenceKey)] }
    await server().call('POST', `/guardrails/${id}/assignments/keys`, { key, body: keys })
    expect(await examined({ guardrail_id: id })).toBe(4)
    expect(await examined({ guardrail_id: id, days: 30 })).toBe(5)
    expect(await examine(tenant, draft, { max_requests: 2 })).toMatchObject({
      examined: 2,
      is_complete: false,
    })
    const other = await newTenant()
    expect((await examine(other, draft)).examined).toBe(0)
    const foreign = await server().call('POST', '/guardrails/preview/requests', {
      key: other.managementKey,
      body: { guardrail: draft, guardrail_id: id },
    })
    expect(foreign.status).toBe(404)
  })

  test('requests that the caller may not see are not counted', async () => {
    const tenant = await newTenant()
    await insert(tenant)
    const { body } = await server().call('POST', '/management-keys', {
      key: tenant.managementKey,
      body: { name: 'blind', permissions: ['guardrails:read'] },
    })
    expect(await examine({ managementKey: body.key }, {})).toMatchObject({ examined: 0 })
  })

  test('many requests are examined without holding the event loop', async () => {
    const tenant = await newTenant()
    for (let count = 0; count < 600; count++) await insert(tenant, { cost_nanos: 10n })
    const budget = { limit_usd: 0.000001, reset_interval: 'daily' }
    let totals: { examined: number } | undefined
    const delay = await measureLoopDelay(100, async () => {
      totals = await examine(tenant, budget)
    })
    expect(totals?.examined).toBe(600)
    expect(delay).toBeLessThan(100)
  })
})
