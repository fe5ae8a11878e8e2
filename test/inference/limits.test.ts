import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createMember } from '../../src/identity/members.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { createTenant, type Tenant } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { vendorReply } from '../support/replies.ts'
import { describeWithUpstreams, readJson, sendRequest } from './two-upstreams.ts'

interface Refused {
  status: number
  reason: string
  message: string
  headers: Headers
  metadata: Record<string, unknown>
}

describeWithUpstreams('limits', (bench) => {
  const server = () => bench().server
  const send = (key: string, model = 'test/cent') => sendRequest(bench(), 'chat', { model }, { key })

  async function keyWith(body: Record<string, unknown> = {}): Promise<{ key: string; hash: string }> {
    const made = await server().call('POST', '/keys', { body: { name: 'limited', ...body } })
    return { key: made.body.key, hash: made.body.data.hash }
  }

  async function readRejection(response: Response | Promise<Response>): Promise<Refused> {
    const settled = await response
    const { error } = await readJson(settled)
    expect(error.code).toBe(settled.status)
    const { reason, ...metadata } = error.metadata
    return { status: settled.status, reason, message: error.message, headers: settled.headers, metadata }
  }

  async function passes(key: string, times: number, model?: string): Promise<void> {
    for (let time = 0; time < times; time++) expect((await send(key, model)).status).toBe(200)
  }

  beforeEach(() => {
    bench().first.requests.length = 0
  })
  afterEach(async () => {
    server().clock.release()
    expect((await checkLedger(server().gateway.db)).findings.flatMap(({ violations }) => violations)).toEqual(
      [],
    )
  })

  describe('of a member', () => {
    const addMember = async (body: object) => {
      const email = `${crypto.randomUUID()}@example.com`
      const made = await server().call('POST', '/organization/members', { body: { email, ...body } })
      return made.body.data as { id: string; limit: number | null }
    }
    const detailsOf = async (id: string) =>
      (await server().call('GET', `/organization/members/${id}`)).body.data

    test('R1 all keys of the member share it, in every workspace', async () => {
      const { id } = await addMember({ limit: 0.03 })
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      const workspace_id = (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body
        .data.id
      const [first, second, elsewhere, others] = [
        await keyWith({ creator_user_id: id }),
        await keyWith({ creator_user_id: id }),
        await keyWith({ creator_user_id: id, workspace_id }),
        await keyWith(),
      ]
      for (const { key } of [first, second, elsewhere]) await passes(key, 1)
      for (const { key } of [first, second, elsewhere])
        expect(await readRejection(send(key))).toMatchObject({ status: 402, reason: 'member_limit_reached' })
      expect(bench().first.requests).toHaveLength(3)
      await passes(others.key, 1)
      expect(await detailsOf(id)).toMatchObject({ limit: 0.03, limit_remaining: 0, limit_reset: null })
    })

    test('R26 it is changed and removed by the API, and resets', async () => {
      server().clock.freeze('2030-05-01T12:00:00Z')
      const { id } = await addMember({})
      const { key } = await keyWith({ creator_user_id: id })
      await passes(key, 1)
      const change = (body: object) => server().call('PATCH', `/organization/members/${id}`, { body })
      const changed = await change({ limit: 0.01, limit_reset: 'daily' })
      expect(changed.body.data).toMatchObject({ limit: 0.01, limit_remaining: 0.01, limit_reset: 'daily' })
      await passes(key, 1)
      expect((await readRejection(send(key))).message).toContain('daily limit of the member')
      server().clock.freeze('2030-05-02T00:00:00Z')
      await passes(key, 1)
      expect((await send(key)).status).toBe(402)
      expect((await change({ limit: null })).body.data).toMatchObject({ limit: null, limit_remaining: null })
      await passes(key, 2)
    })

    test('R1 of 10 concurrent requests of several keys, as many pass as fit', async () => {
      const { id } = await addMember({ limit: 0.04 })
      const keys = [await keyWith({ creator_user_id: id }), await keyWith({ creator_user_id: id })]
      const sent = Array.from({ length: 10 }, (_, i) => send(keys[i % 2]?.key ?? ''))
      const statuses = (await Promise.all(sent)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(4)
    })
  })

  describe('of a key', () => {
    test('R1 a request that does not fit is 402, and no provider is called', async () => {
      const { key } = await keyWith({ limit: 0.02 })
      await passes(key, 2)
      expect(await readRejection(send(key))).toMatchObject({ status: 402, reason: 'key_limit_reached' })
      expect(bench().first.requests).toHaveLength(2)
    })

    test('R3 I4 with a BYOK key the hold is that of the dearer path, not the sum of both', async () => {
      const own = { provider: 'one-chat', key: 'own-credential-0123456789' }
      const { id } = (await server().call('POST', '/byok', { body: own })).body.data
      try {
        // A cent with shared capacity; with the BYOK key a cent at the provider and a fee of a twentieth.
        const fits = await keyWith({ limit: 0.0105, include_byok_in_limit: true })
        await passes(fits.key, 1)
        const short = await keyWith({ limit: 0.0104, include_byok_in_limit: true })
        expect(await readRejection(send(short.key))).toMatchObject({
          status: 402,
          reason: 'key_limit_reached',
        })
        const { body } = await server().call('GET', `/keys/${fits.hash}`)
        expect(body.data).toMatchObject({ usage: 0.0005, byok_usage: 0.01, limit_remaining: 0 })
      } finally {
        await server().call('DELETE', `/byok/${id}`)
      }
    })

    test.each([
      ['monthly', '2027-12-31T23:59:59.999Z', '2028-01-01T00:00:00.000Z'],
      ['weekly', '2028-01-02T23:59:59.999Z', '2028-01-03T00:00:00.000Z'],
      ['daily', '2028-02-29T23:59:59.999Z', '2028-03-01T00:00:00.000Z'],
    ])('R13 a %s limit resets one millisecond later', async (limit_reset, last, first) => {
      const { key, hash } = await keyWith({ limit: 0.01, limit_reset })
      server().clock.freeze(last)
      await passes(key, 1)
      expect((await send(key)).status).toBe(402)
      server().clock.freeze(first)
      await passes(key, 1)
      expect((await send(key)).status).toBe(402)
      const { data } = (await server().call('GET', `/keys/${hash}`)).body
      expect(data).toMatchObject({ usage: 0.02, usage_daily: 0.01, limit_remaining: 0 })
    })

    test('R13 a request belongs to the window it started in', async () => {
      const { key, hash } = await keyWith({ limit: 0.01, limit_reset: 'daily' })
      server().clock.freeze('2028-05-01T23:59:59.999Z')
      bench().first.enqueue({ json: vendorReply('chat', 'text').body, waitMs: 150 })
      const slow = send(key)
      while (bench().first.requests.length === 0) await Bun.sleep(2)
      server().clock.freeze('2028-05-02T00:00:00.001Z')
      await passes(key, 1)
      expect((await slow).status).toBe(200)
      const { data } = (await server().call('GET', `/keys/${hash}`)).body
      expect(data).toMatchObject({ usage: 0.02, usage_daily: 0.01 })
    })

    test('a changed limit takes effect at once', async () => {
      const { key, hash } = await keyWith({ limit: 0.01 })
      await passes(key, 1)
      expect((await send(key)).status).toBe(402)
      await server().call('PATCH', `/keys/${hash}`, { body: { limit: 0.02 } })
      await passes(key, 1)
      await server().call('PATCH', `/keys/${hash}`, { body: { limit: null } })
      await passes(key, 1)
    })

    test('free requests pass a limit that is reached', async () => {
      const { key } = await keyWith({ limit: 0 })
      expect((await send(key)).status).toBe(402)
      await passes(key, 1, 'test/gift:free')
    })

    test('R8 an unknown price is rejected where there is a limit, and free where there is none', async () => {
      const { key } = await keyWith({ limit: 5 })
      expect(await readRejection(send(key, 'test/unpriced'))).toMatchObject({
        status: 402,
        reason: 'price_unknown',
      })
      const free = await keyWith()
      await passes(free.key, 1, 'test/unpriced')
    })
  })

  describe('of a workspace', () => {
    test('403 naming the broadest interval that is exceeded', async () => {
      const workspace = await server().call('POST', '/workspaces', {
        body: { name: 'Budget', slug: 'budget' },
      })
      const { id } = workspace.body.data
      const { key } = await keyWith({ workspace_id: id })
      const other = await keyWith({ workspace_id: id })
      const put = (interval: string, limit_usd: number) =>
        server().call('PUT', `/workspaces/${id}/budgets/${interval}`, { body: { limit_usd } })
      await put('daily', 0.02)
      await passes(key, 1)
      await passes(other.key, 1)
      const daily = await readRejection(send(key))
      expect(daily).toMatchObject({ status: 403, reason: 'workspace_budget_reached' })
      expect(daily.message).toContain('daily')
      await put('lifetime', 0.021)
      await put('monthly', 0.0205)
      const lifetime = await readRejection(send(other.key))
      expect(lifetime).toMatchObject({ status: 403, metadata: { interval: 'lifetime' } })
      await server().call('DELETE', `/workspaces/${id}/budgets/lifetime`)
      expect((await readRejection(send(key))).metadata).toMatchObject({ interval: 'monthly' })
    })
  })

  describe('of a guardrail', () => {
    async function guardrail(body: Record<string, unknown>): Promise<string> {
      const made = await server().call('POST', '/guardrails', { body })
      return made.body.data.id
    }

    test('counts each key separately', async () => {
      const id = await guardrail({ name: 'a cent each', limit_usd: 0.01, reset_interval: 'daily' })
      const [one, two] = [await keyWith(), await keyWith()]
      const key_hashes = [one.hash, two.hash]
      await server().call('POST', `/guardrails/${id}/assignments/keys`, { body: { key_hashes } })
      await passes(one.key, 1)
      expect(await readRejection(send(one.key))).toMatchObject({
        status: 403,
        reason: 'guardrail_budget_reached',
      })
      await passes(two.key, 1)
    })

    test('counts the spending of all keys of a member', async () => {
      const { gateway, own } = server()
      const member = {
        organizationId: own.organization.id,
        email: 'spender@example.com',
        role: 'org:member' as const,
      }
      const { id: user } = await createMember(gateway.db, gateway.clock, member)
      const id = await guardrail({ name: 'two cents a head', limit_usd: 0.02, reset_interval: 'weekly' })
      await server().call('POST', `/guardrails/${id}/assignments/members`, {
        body: { member_user_ids: [user] },
      })
      const [one, two] = [await keyWith({ creator_user_id: user }), await keyWith({ creator_user_id: user })]
      const stranger = await keyWith()
      await passes(one.key, 1)
      await passes(two.key, 1)
      expect(await readRejection(send(one.key))).toMatchObject({
        status: 403,
        reason: 'guardrail_budget_reached',
      })
      expect(await readRejection(send(two.key))).toMatchObject({
        status: 403,
        metadata: { interval: 'weekly' },
      })
      await passes(stranger.key, 1)
    })
  })

  describe('of the account', () => {
    const foreign = (model = 'test/cent') => send(server().foreign.inferenceKey, model)
    const grant = (amount: number, kind = 'adjustment') =>
      server().call('POST', '/credits/grants', {
        body: { amount, kind, organization_id: server().foreign.organization.id },
      })

    test('402 without credits, also for free models once the balance is negative', async () => {
      const credits = await server().call('GET', '/credits', { key: server().foreign.managementKey })
      const { total_credits, total_usage } = credits.body.data
      await grant(-(total_credits - total_usage))
      expect(await readRejection(foreign())).toMatchObject({ status: 402, reason: 'credits_exhausted' })
      expect((await foreign('test/gift:free')).status).toBe(200)
      await grant(-0.000000001)
      expect(await readRejection(foreign('test/gift:free'))).toMatchObject({
        status: 402,
        reason: 'credits_exhausted',
      })
      await grant(0.010000001)
      expect((await foreign()).status).toBe(200)
      expect((await foreign()).status).toBe(402)
      await grant(100)
    })

    test('R16 free variants: 20 a minute, 50 a day, 1000 once ten dollars were bought', async () => {
      server().clock.freeze('2029-06-01T10:00:30.000Z')
      for (let time = 0; time < 20; time++) expect((await foreign('test/gift:free')).status).toBe(200)
      const minute = await readRejection(foreign('test/gift:free'))
      expect(minute).toMatchObject({
        status: 429,
        reason: 'rate_limited',
        metadata: { error_type: 'rate_limit_exceeded' },
      })
      expect(minute.headers.get('x-ratelimit-limit')).toBe('20')
      expect(minute.headers.get('x-ratelimit-remaining')).toBe('0')
      expect(Number(minute.headers.get('x-ratelimit-reset'))).toBe(Date.parse('2029-06-01T10:01:00.000Z'))
      const ok = await foreign()
      expect([ok.status, ok.headers.get('x-ratelimit-limit')]).toEqual([200, null])
      for (const time of ['10:01:00', '10:02:00']) {
        server().clock.freeze(`2029-06-01T${time}.000Z`)
        for (let request = 0; request < 15; request++)
          expect((await foreign('test/gift:free')).status).toBe(200)
      }
      server().clock.freeze('2029-06-01T10:03:00.000Z')
      const day = await readRejection(foreign('test/gift:free'))
      expect([day.status, day.headers.get('x-ratelimit-limit')]).toEqual([429, '50'])
      expect(Number(day.headers.get('x-ratelimit-reset'))).toBe(Date.parse('2029-06-02T00:00:00.000Z'))
      const key = await server().call('GET', '/key', { key: server().foreign.inferenceKey })
      expect(key.body.data.free_model_daily_requests).toEqual({ limit: 50, remaining: 0, used: 50 })
      await grant(10, 'purchase')
      expect((await foreign('test/gift:free')).status).toBe(200)
      server().clock.freeze('2029-06-02T00:00:00.000Z')
      expect((await foreign('test/gift:free')).status).toBe(200)
    })
  })

  test('R16 free variants: the organizations of one owner count together, and those of others apart', async () => {
    server().clock.freeze('2029-07-01T10:00:30.000Z')
    const { gateway } = server()
    const first = await createTenant(gateway, 'First account')
    const second = await createTenant(gateway, 'Second account', first.owner.email)
    const other = await createTenant(gateway, 'Account of somebody else')
    // An admin who joined later does not own it.
    server().clock.freeze('2029-07-01T10:00:31.000Z')
    const joined = { organizationId: other.organization.id, email: first.owner.email }
    await createMember(gateway.db, gateway.clock, { ...joined, role: 'org:admin' })
    for (const { organization } of [first, second, other])
      await server().call('POST', '/credits/grants', {
        body: { amount: 1, kind: 'adjustment', organization_id: organization.id },
      })
    const sendFree = async ({ inferenceKey }: Tenant) => (await send(inferenceKey, 'test/gift:free')).status
    for (let time = 0; time < 10; time++)
      for (const tenant of [first, second]) expect(await sendFree(tenant)).toBe(200)
    expect([await sendFree(first), await sendFree(second), await sendFree(other)]).toEqual([429, 429, 200])
    const readDaily = async ({ inferenceKey }: Tenant) =>
      (await server().call('GET', '/key', { key: inferenceKey })).body.data.free_model_daily_requests
    expect(await readDaily(second)).toEqual({ limit: 50, remaining: 30, used: 20 })
    // What one of them has bought raises the limit of both.
    await server().call('POST', '/credits/grants', {
      body: { amount: 10, kind: 'purchase', organization_id: first.organization.id },
    })
    expect(await readDaily(second)).toEqual({ limit: 1000, remaining: 980, used: 20 })
    expect(await readDaily(other)).toEqual({ limit: 50, remaining: 49, used: 1 })
    server().clock.freeze('2029-07-01T10:01:30.000Z')
    expect([await sendFree(first), await sendFree(second)]).toEqual([200, 200])
  })

  test('R3 the hold is the worst case: the longest possible reply must fit, whatever the real one costs', async () => {
    const { key } = await keyWith({ limit: 0.004 })
    const chat = (max_tokens: number) =>
      sendRequest(bench(), 'chat', { model: 'test/chat', max_tokens }, { key })
    expect((await chat(1000)).status).toBe(402)
    const response = await chat(900)
    expect(response.status).toBe(200)
    expect((await readJson(response)).usage.cost).toBeLessThan(0.001)
  })

  test('R2 whatever the outcome of a request, no hold remains', async () => {
    const { key } = await keyWith({ limit: 1 })
    const outcomes = [
      { status: 500 },
      { status: 400, json: { error: { message: 'no' } } },
      { breakBeforeHead: true },
    ]
    for (const outcome of outcomes) {
      bench().first.enqueue(outcome)
      expect((await send(key)).status).toBeGreaterThanOrEqual(400)
    }
    await sendRequest(bench(), 'chat', { model: 'test/cent', top_k: 5, tools: 'nonsense' }, { key })
    const left = await requestHolds(server().gateway.db).selectAll().execute()
    expect(left).toEqual([])
  })
})
