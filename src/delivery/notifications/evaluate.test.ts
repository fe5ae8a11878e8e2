import { afterAll, beforeEach, expect, test } from 'bun:test'
import { insertGeneration } from '../../../test/support/generations.ts'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../test/support/harness.ts'
import { recordSpend } from '../../../test/support/spend.ts'
import { rollUp } from '../../analytics/rollups/roll-up.ts'
import { createKey } from '../../identity/keys.ts'
import { postFunding } from '../../ledger/entries.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { newId } from '../../platform/crypto/ids.ts'
import { utcDay } from '../../platform/time/time.ts'
import { evaluateNotifications, runNotifications } from './evaluate.ts'
import { recordFailingEndpoints } from './kinds/providers.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

describeOnEachDatabase('notifications', (server) => {
  let tenant: Tenant
  beforeEach(async () => {
    server().clock.freeze('2026-03-30T10:00:00Z')
    tenant = await createTenant(server().gateway, 'notified')
  })
  afterAll(() => server().clock.release())

  const call = (method: string, path: string, body?: unknown) =>
    server().call(method, path, { key: tenant.managementKey, body })
  const evaluate = () => evaluateNotifications(server().gateway)
  const findKey = ({ inferenceKey }: Tenant) =>
    server()
      .gateway.db.selectFrom('api_keys')
      .selectAll()
      .where('hash', '=', sha256(inferenceKey))
      .executeTakeFirstOrThrow()
  const spend = async (usd: number) =>
    recordSpend(server().gateway, await findKey(tenant), utcDay(server().clock.now()), { credits: usd })
  const fund = (usd: number) =>
    postFunding(server().gateway.db, {
      transactionId: newId('txn'),
      organizationId: tenant.organization.id,
      kind: 'grant',
      note: null,
      amount: BigInt(usd) * 1_000_000_000n,
      at: new Date(server().clock.now()).toISOString(),
    })

  /** Evaluates twice: the second time must add nothing. Oldest first. */
  async function notify(
    kind: string,
  ): Promise<{ title: string; text: string; data: Record<string, unknown> }[]> {
    await evaluate()
    await evaluate()
    // So that the order of those of the next evaluation is known.
    server().clock.advance(1000)
    const { body } = await call('GET', '/notifications?limit=100')
    return body.data.filter((row: { kind: string }) => row.kind === kind).reverse()
  }

  test('low balance: below the threshold, once, and again after the balance was restored', async () => {
    expect(await notify('low_balance')).toEqual([])
    await fund(110)
    await spend(10)
    expect(await notify('low_balance')).toEqual([])
    await spend(0.01)
    expect((await notify('low_balance')).map(({ data }) => data)).toEqual([
      { balance_usd: 99.99, threshold_usd: 100 },
    ])
    server().clock.advance(minuteMs)
    await fund(5)
    expect(await notify('low_balance')).toHaveLength(1)
    server().clock.advance(minuteMs)
    await spend(5)
    expect(await notify('low_balance')).toHaveLength(2)
  })

  test('low balance: the text has every digit, so that it is not the threshold itself', async () => {
    await fund(110)
    await spend(10.000002)
    const [notification] = await notify('low_balance')
    expect(notification).toMatchObject({
      title: 'The balance is below 100 USD',
      text: expect.stringContaining('has 99.999998 USD of credits left'),
    })
  })

  test('R37 another organization is not notified, and cannot read or mark what this one sees', async () => {
    await fund(10)
    await evaluate()
    const [{ id }] = (await call('GET', '/notifications')).body.data
    const other = await createTenant(server().gateway, 'other')
    const key = other.managementKey
    expect((await server().call('GET', '/notifications', { key })).body.total_count).toBe(0)
    const marked = await server().call('PATCH', `/notifications/${id}`, { key, body: { read: true } })
    expect(marked.status).toBe(404)
    expect((await call('GET', '/notifications?unread=true')).body.total_count).toBe(1)
    expect((await call('PATCH', `/notifications/${id}`, { read: true })).body.data.read_at).not.toBeNull()
    expect((await call('GET', '/notifications?unread=true')).body.total_count).toBe(0)
    await call('PATCH', `/notifications/${id}`, { read: false })
    expect((await call('POST', '/notifications/read')).body.data.marked).toBe(1)
  })

  test('the limit of a key: at 80 and 100 percent of each window, and again when it is raised', async () => {
    const { hash } = await findKey(tenant)
    await call('PATCH', `/keys/${hash}`, { limit: 10, limit_reset: 'daily' })
    await spend(7.99)
    expect(await notify('budget')).toEqual([])
    await spend(0.01)
    expect((await notify('budget')).map(({ data }) => data)).toEqual([
      { spent_usd: 8, limit_usd: 10, percent: 80, limit_kind: 'key', window: 'day' },
    ])
    await spend(2)
    const reached = await notify('budget')
    expect(reached.map(({ data }) => data.percent)).toEqual([80, 100])
    expect(reached[1]?.text).toContain(`PATCH /keys/${hash}`)
    await call('PATCH', `/keys/${hash}`, { limit: 12 })
    expect((await notify('budget')).map(({ data }) => data.percent)).toEqual([80, 100, 80])
    server().clock.advance(dayMs)
    expect(await notify('budget')).toHaveLength(3)
    await spend(12)
    expect((await notify('budget')).map(({ data }) => data.percent)).toEqual([80, 100, 80, 100])
  })

  test('the limit of a member: what all their keys spent in all workspaces, for the whole organization', async () => {
    const { gateway, clock } = server()
    const { organization, workspace, owner } = tenant
    const path = `/organization/members/${owner.id}`
    await call('PATCH', path, { limit: 10, limit_reset: 'monthly' })
    const other = await call('POST', '/workspaces', { name: 'Elsewhere', slug: 'elsewhere' })
    const place = { organizationId: organization.id, kind: 'inference' as const, creatorUserId: owner.id }
    const spendIn = async (workspaceId: string, usd: number) => {
      const { key } = await createKey(gateway.db, clock, { ...place, workspaceId, name: 'key' })
      await recordSpend(gateway, key, utcDay(clock.now()), { credits: usd })
    }
    await spendIn(workspace.id, 5)
    expect(await notify('budget')).toEqual([])
    await spendIn(other.body.data.id, 4)
    const [first, ...more] = await notify('budget')
    expect(more).toEqual([])
    expect(first).toMatchObject({
      workspace_id: null,
      title: expect.stringContaining(owner.email),
      text: expect.stringContaining(`PATCH ${path}`),
      data: { spent_usd: 9, limit_usd: 10, percent: 80, limit_kind: 'member', window: 'month' },
    })
    await spendIn(workspace.id, 1)
    expect((await notify('budget')).map(({ data }) => data.percent)).toEqual([80, 100])
    await call('PATCH', path, { limit: null })
    clock.advance(31 * dayMs)
    expect(await notify('budget')).toHaveLength(2)
  })

  test('budgets of workspaces and guardrails, for keys and members', async () => {
    await call('PUT', `/workspaces/${tenant.workspace.id}/budgets/monthly`, { limit_usd: 20 })
    await call('PUT', `/workspaces/${tenant.workspace.id}/budgets/lifetime`, { limit_usd: 40 })
    const { hash } = await findKey(tenant)
    const guardrail = await call('POST', '/guardrails', {
      name: 'small',
      limit_usd: 18,
      reset_interval: 'weekly',
    })
    await call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, { key_hashes: [hash] })
    await spend(17)
    const found = await notify('budget')
    expect(found.map(({ data }) => [data.limit_kind, data.window, data.percent]).sort()).toEqual([
      ['guardrail', 'week', 80],
      ['workspace', 'month', 80],
    ])
    await spend(23)
    expect((await notify('budget')).map(({ data }) => [data.window, data.percent])).toContainEqual([
      'total',
      100,
    ])
  })

  test('the budget of a guardrail for a member: what all their keys in its workspace spent', async () => {
    const { gateway, clock } = server()
    const { organization, workspace, owner } = tenant
    const created = await call('POST', '/guardrails', {
      name: 'people',
      limit_usd: 10,
      reset_interval: 'daily',
    })
    const path = `/guardrails/${created.body.data.id}/assignments/members`
    const assigned = await call('POST', path, { member_user_ids: [owner.id] })
    expect(assigned.status).toBe(200)
    const place = { organizationId: organization.id, kind: 'inference' as const, creatorUserId: owner.id }
    const spendWithNewKey = async (usd: number, workspaceId = workspace.id) => {
      const { key } = await createKey(gateway.db, clock, { ...place, workspaceId, name: 'key' })
      await recordSpend(gateway, key, utcDay(clock.now()), { credits: usd })
    }
    await spendWithNewKey(5)
    const other = await call('POST', '/workspaces', { name: 'Other', slug: 'other' })
    await spendWithNewKey(100, other.body.data.id)
    expect(await notify('budget')).toEqual([])
    await spendWithNewKey(4)
    const [first, ...more] = await notify('budget')
    expect(more).toEqual([])
    expect(first?.data).toEqual({
      ...{ spent_usd: 9, limit_usd: 10, percent: 80, limit_kind: 'guardrail', window: 'day' },
    })
    expect(first?.title).toContain(owner.email)
    await spendWithNewKey(1)
    expect((await notify('budget')).map(({ data }) => data.percent)).toEqual([80, 100])
    clock.advance(dayMs)
    await spendWithNewKey(8)
    expect((await notify('budget')).map(({ data }) => data.percent)).toEqual([80, 100, 80])
  })

  test('after 90 days a notification and its deliveries are deleted, unless what it reports lasts', async () => {
    const { gateway, clock } = server()
    const webhook = { url: 'https://hooks.example.com/' }
    await call('POST', '/notifications/rules', { kind: 'low_balance', threshold: 60, channels: { webhook } })
    await call('POST', '/notifications/rules', { kind: 'budget', threshold: 90, channels: { webhook } })
    await call('PUT', `/workspaces/${tenant.workspace.id}/budgets/daily`, { limit_usd: 10 })
    await fund(50)
    await spend(10)
    await evaluate()
    const count = async () => {
      const rows = await gateway.db
        .selectFrom('notifications')
        .leftJoin('notification_deliveries as delivery', 'delivery.notification_id', 'notifications.id')
        .select(['kind', 'delivery.id'])
        .where('notifications.organization_id', '=', tenant.organization.id)
        .execute()
      const deliveries = await gateway.db
        .selectFrom('notification_deliveries')
        .select('id')
        .where('organization_id', '=', tenant.organization.id)
        .execute()
      return { kinds: [...new Set(rows.map(({ kind }) => kind))].sort(), deliveries: deliveries.length }
    }
    const all = await count()
    expect(all.kinds).toEqual(['budget', 'low_balance'])
    clock.advance(90 * dayMs)
    await evaluate()
    expect(await count()).toEqual(all)
    clock.advance(1)
    await evaluate()
    const left = await count()
    expect(left.kinds).toEqual(['low_balance'])
    expect(left.deliveries).toBeLessThan(all.deliveries)
    // When it holds no longer, it is old as well.
    await fund(500)
    await evaluate()
    expect(await count()).toEqual({ kinds: [], deliveries: 0 })
  })

  test('a rule of a workspace covers that workspace only, with its own threshold', async () => {
    const { body } = await call('GET', '/notifications/rules')
    const rule = body.data.find(({ kind }: { kind: string }) => kind === 'budget')
    await call('DELETE', `/notifications/rules/${rule.id}`)
    const workspace = await call('POST', '/workspaces', { name: 'Other', slug: 'other' })
    await call('POST', '/notifications/rules', {
      kind: 'budget',
      threshold: 50,
      workspace_id: workspace.body.data.id,
    })
    const { hash } = await findKey(tenant)
    await call('PATCH', `/keys/${hash}`, { limit: 10 })
    await spend(6)
    expect(await notify('budget')).toEqual([])
    await call('POST', '/notifications/rules', {
      kind: 'budget',
      threshold: 50,
      workspace_id: tenant.workspace.id,
    })
    expect((await notify('budget')).map(({ data }) => data.percent)).toEqual([50])
  })

  test('a key that expires: from the threshold on, and again for another expiry', async () => {
    const { gateway, clock } = server()
    const scope = { organizationId: tenant.organization.id, workspaceId: tenant.workspace.id }
    const expiresAt = new Date(clock.now() + 7 * dayMs + 1000).toISOString()
    await createKey(gateway.db, clock, { ...scope, kind: 'inference', name: 'short', expiresAt })
    expect(await notify('key_expiring')).toEqual([])
    clock.advance(1000)
    expect((await notify('key_expiring')).map(({ data }) => data.expires_at)).toEqual([expiresAt])
    await gateway.db
      .updateTable('api_keys')
      .set({ expires_at: new Date(clock.now() + dayMs).toISOString() })
      .where('name', '=', 'short')
      .execute()
    expect(await notify('key_expiring')).toHaveLength(2)
    clock.advance(2 * dayMs)
    expect(await notify('key_expiring')).toHaveLength(2)
  })

  test('a destination that fails for half an hour, and again after it had recovered', async () => {
    const { gateway, clock } = server()
    const { body } = await call('POST', '/observability/destinations', {
      type: 'webhook',
      name: 'Warehouse',
      config: { url: 'https://events.example.com/' },
    })
    const { id } = body.data
    const setFailures = async (failures: number) => {
      await gateway.db.deleteFrom('destination_states').where('destination_id', '=', id).execute()
      await gateway.db.insertInto('destination_states').values({ destination_id: id, failures }).execute()
    }
    await gateway.db
      .insertInto('outbox_deliveries')
      .values({
        destination_id: id,
        event_id: newId('gen'),
        created_at: new Date(clock.now()).toISOString(),
        size: 1,
        shared_parts: 0,
        state: 'pending',
      })
      .execute()
    clock.advance(30 * minuteMs - 1)
    await setFailures(4)
    expect(await notify('destination_failing')).toEqual([])
    clock.advance(1)
    expect((await notify('destination_failing')).map(({ title }) => title)).toEqual([
      'The destination "Warehouse" is failing',
    ])
    await setFailures(0)
    clock.advance(minuteMs)
    expect(await notify('destination_failing')).toHaveLength(1)
    await setFailures(1)
    clock.advance(minuteMs)
    expect(await notify('destination_failing')).toHaveLength(2)
  })

  test('a provider that fails: the operator is notified, once for all nodes, and others are not', async () => {
    const { gateway, clock } = server()
    const endpoint = gateway.catalog.models.find(({ id }) => id === 'sandbox/echo')?.endpoints[0]
    const health = gateway.routing.health.getOrCreate(endpoint?.id ?? '')
    const countOperator = async () => {
      const { body } = await server().call('GET', '/notifications?limit=100')
      return body.data.filter(({ kind }: { kind: string }) => kind === 'provider_failing').length
    }
    const before = await countOperator()
    const fail = () => health.recordFailure(clock.now(), { kind: 'server' })
    for (let attempt = 0; attempt < 5; attempt++) fail()
    clock.advance(15 * minuteMs - 1)
    fail()
    await recordFailingEndpoints(gateway)
    await evaluate()
    expect(await countOperator()).toBe(before)
    clock.advance(1)
    fail()
    await recordFailingEndpoints(gateway)
    await recordFailingEndpoints({
      ...gateway,
      node: Object.assign(Object.create(gateway.node), { id: 'other' }),
    })
    expect(await notify('provider_failing')).toEqual([])
    expect(await countOperator()).toBe(before + 1)
    health.recordSuccess(clock.now(), { firstTokenMs: 1, tokensPerSecond: 1 })
    await gateway.db.deleteFrom('failing_endpoints').execute()
    clock.advance(minuteMs)
    await recordFailingEndpoints(gateway)
    await evaluate()
    expect(
      await gateway.db
        .selectFrom('notifications')
        .selectAll()
        .where('kind', '=', 'provider_failing')
        .where('period', '=', 'open')
        .execute(),
    ).toEqual([])
  })

  test('unusual spending of a key, from the roll-up of its hours', async () => {
    const { gateway, clock } = server()
    const key = await findKey(tenant)
    const now = clock.now()
    const hours = Array.from({ length: 28 * 24 }, (_, index) => ({
      key_id: key.id,
      hour: new Date(now - (index + 1) * hourMs).toISOString().slice(0, 13),
      usage_nanos: 1_000_000_000n,
    }))
    for (let at = 0; at < hours.length; at += 200)
      await gateway.db
        .insertInto('key_hours')
        .values(hours.slice(at, at + 200))
        .execute()
    const request = async (cost_nanos: bigint) => {
      await insertGeneration(gateway, tenant, { cost_nanos })
      await rollUp(gateway, { minRows: 1 })
    }
    await request(4_000_000_000n)
    expect(await notify('unusual_spend')).toEqual([])
    await request(6_000_000_000n)
    const found = await notify('unusual_spend')
    expect(found.map(({ data }) => [data.spent_usd, data.expected_usd, data.hour])).toEqual([
      [10, 1, '2026-03-30T10:00:00Z'],
    ])
    clock.advance(hourMs)
    await request(20_000_000_000n)
    expect(await notify('unusual_spend')).toHaveLength(1)
    clock.advance(dayMs)
    await request(20_000_000_000n)
    expect(await notify('unusual_spend')).toHaveLength(2)
  })

  test('several nodes at once: one notification with one delivery for each address', async () => {
    const { gateway } = server()
    await call('POST', '/notifications/rules', {
      kind: 'low_balance',
      channels: { webhook: { url: 'https://hooks.example.com/' } },
    })
    await fund(50)
    await Promise.all([evaluate(), evaluate(), evaluate(), runNotifications(gateway)])
    const { body } = await call('GET', '/notifications')
    expect(body.data.map(({ kind }: { kind: string }) => kind)).toEqual(['low_balance'])
    const deliveries = await gateway.db
      .selectFrom('notification_deliveries')
      .selectAll()
      .where('organization_id', '=', tenant.organization.id)
      .execute()
    expect(deliveries.map(({ channel, state }) => [channel, state])).toEqual([['webhook', 'pending']])
  })
})
