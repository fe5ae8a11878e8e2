import { afterEach, beforeEach, expect, test } from 'bun:test'
import { toLimitRule } from '../../src/governance/limits/store.ts'
import { LimitReservation } from '../../src/inference/hold/limit-reservation.ts'
import { estimateUse } from '../../src/inference/hold/measured-use.ts'
import type { Candidate } from '../../src/inference/routing/candidate.ts'
import { noAmounts } from '../../src/ledger/amounts.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { vendorReply } from '../support/replies.ts'
import { waitUntil } from '../support/wait-until.ts'
import { describeWithUpstreams, sendRequest } from './two-upstreams.ts'

/** In the middle of a minute. */
const now = '2028-03-15T12:00:30.000Z'

describeWithUpstreams('declared limits', (bench) => {
  const { body: reply } = vendorReply('chat', 'text')
  const created: string[] = []

  beforeEach(() => {
    bench().server.clock.freeze(now)
    for (const upstream of [bench().first, bench().second]) upstream.setDefault({ json: reply })
  })
  afterEach(async () => {
    for (const id of created.splice(0)) await bench().server.call('DELETE', `/limits/${id}`)
  })

  async function createLimit(body: Record<string, unknown>): Promise<string> {
    const response = await bench().server.call('POST', '/limits', { body: { name: 'Test', ...body } })
    expect(response.status).toBe(201)
    created.push(response.body.data.id)
    return response.body.data.id
  }

  async function createKey(body: Record<string, unknown> = {}): Promise<{ secret: string; hash: string }> {
    const { body: key } = await bench().server.call('POST', '/keys', { body: { name: 'key', ...body } })
    return { secret: key.key, hash: key.data.hash }
  }

  const send = (key: string, body: Record<string, unknown> = {}) =>
    sendRequest(bench(), 'chat', { model: 'test/cent', ...body }, { key })

  async function statuses(responses: Promise<Response>[]): Promise<number[]> {
    const all = await Promise.all(responses)
    await Promise.all(all.map((response) => response.text()))
    return all.map(({ status }) => status)
  }

  async function usageOf(id: string): Promise<{ counter: Record<string, string>; used: number }[]> {
    const { body } = await bench().server.call('GET', '/limits/usage?limit=100')
    return body.data.find((usage: { id: string }) => usage.id === id).counts
  }

  test('requests of a key in a minute, and the headers that SDKs read', async () => {
    const key = await createKey()
    await createLimit({
      name: 'Interactive',
      measure: 'requests',
      window: 'minute',
      amount: 3,
      match: { key_hash: key.hash },
    })
    const first = await send(key.secret)
    expect(first.status).toBe(200)
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '2',
      'x-ratelimit-reset-requests': '30s',
      'anthropic-ratelimit-requests-limit': '3',
      'anthropic-ratelimit-requests-remaining': '2',
      'anthropic-ratelimit-requests-reset': '2028-03-15T12:01:00Z',
    })
    expect((await statuses([1, 2, 3, 4].map(() => send(key.secret)))).toSorted()).toEqual([
      200, 200, 429, 429,
    ])
    const rejected = await send(key.secret)
    expect(rejected.headers.get('retry-after')).toMatch(/^\d+$/)
    const { error } = (await rejected.json()) as { error: { message: string; metadata: object } }
    expect(error.message).toContain(
      'The limit "Interactive" of 3 requests per minute is reached. Retry after',
    )
    expect(error.metadata).toMatchObject({ limit_name: 'Interactive', measure: 'requests', remaining: 0 })
    // Two windows later nothing of it counts.
    bench().server.clock.freeze('2028-03-15T12:02:30.000Z')
    expect((await send(key.secret)).status).toBe(200)
  })

  test('the explanation of a request names the limit that was nearest', async () => {
    const key = await createKey()
    const match = { key_hash: key.hash }
    const nearest = await createLimit({ name: 'Near', measure: 'requests', window: 'day', amount: 4, match })
    await createLimit({ name: 'Far', measure: 'tokens', window: 'day', amount: 1_000_000_000_000, match })
    await createLimit({ name: 'Rich', measure: 'usd', window: 'day', amount: 50, match })
    const explain = async () => {
      const response = await send(key.secret)
      await response.text()
      const id = response.headers.get('x-generation-id')
      const explained = await bench().server.call('GET', `/generation/explanation?id=${id}`)
      return explained.body.data.nearest_limit
    }
    const expected = {
      kind: 'limit',
      name: 'Near',
      measure: 'requests',
      interval: 'daily',
      limit: 4,
      needed: 1,
    }
    expect(await explain()).toEqual({ ...expected, subject: `limit:${nearest}`, remaining: 4, left: 3 })
    expect(await explain()).toMatchObject({ ...expected, remaining: 3, left: 2 })
    await bench().server.call('DELETE', `/limits/${nearest}`)
    expect(await explain()).toMatchObject({ name: 'Rich', measure: 'usd', limit: 50 })
  })

  test('tokens are reserved by estimate and corrected by usage', async () => {
    const key = await createKey()
    const id = await createLimit({
      measure: 'tokens',
      window: 'day',
      amount: 1000,
      match: { key_hash: key.hash },
    })
    expect((await send(key.secret, { max_tokens: 900 })).status).toBe(200)
    const { usage } = reply as unknown as { usage: { prompt_tokens: number; completion_tokens: number } }
    expect(await usageOf(id)).toEqual([
      expect.objectContaining({ used: usage.prompt_tokens + usage.completion_tokens }),
    ])
    expect((await send(key.secret, { max_tokens: 990 })).status).toBe(429)
  })

  test('concurrent requests of a workspace', async () => {
    const { body } = await bench().server.call('POST', '/workspaces', { body: { name: 'Few', slug: 'few' } })
    const key = await createKey({ workspace_id: body.data.id })
    await createLimit({
      measure: 'concurrent_requests',
      amount: 2,
      match: { workspace_id: body.data.id },
    })
    const release = Promise.withResolvers<void>()
    const before = bench().first.requests.length
    bench().first.enqueue(...[1, 2].map(() => ({ json: reply, waitFor: release.promise })))
    const running = [send(key.secret), send(key.secret)]
    await waitUntil(() => bench().first.requests.length === before + 2)
    expect((await send(key.secret)).status).toBe(429)
    release.resolve()
    expect(await statuses(running)).toEqual([200, 200])
    expect((await send(key.secret)).status).toBe(200)
  })

  test('dollars of each end user in a day, without declaring them', async () => {
    const key = await createKey()
    const id = await createLimit({
      name: 'Per person',
      measure: 'usd',
      window: 'day',
      amount: 0.02,
      match: { key_hash: key.hash },
      per: ['end_user'],
    })
    const of = (user: string) => send(key.secret, { user })
    expect((await statuses([1, 2, 3, 4].map(() => of('alice')))).toSorted()).toEqual([200, 200, 402, 402])
    expect(await statuses([of('bob')])).toEqual([200])
    const { error } = (await (await of('alice')).json()) as { error: { message: string } }
    expect(error.message).toBe(
      'The daily limit "Per person" is reached. It resets at 2028-03-16T00:00:00.000Z. Members with the permission budgets:write can raise it.',
    )
    expect(await usageOf(id)).toEqual([
      { counter: { end_user: 'alice' }, used: 0.02, remaining: 0 },
      { counter: { end_user: 'bob' }, used: 0.01, remaining: 0.01 },
    ] as never)
  })

  test('R15 a limit on a provider sends requests elsewhere, and counts only what that provider serves', async () => {
    const key = await createKey()
    const id = await createLimit({
      measure: 'requests',
      window: 'day',
      amount: 1,
      match: { key_hash: key.hash, providers: ['one-chat'] },
    })
    const money = await createLimit({
      measure: 'usd',
      window: 'month',
      amount: 1000,
      match: { key_hash: key.hash, providers: ['two-chat'] },
    })
    const before = bench().second.requests.length
    const both = () => send(key.secret, { model: 'test/both-chat', max_tokens: 5 })
    expect(await statuses([both()])).toEqual([200])
    expect(bench().second.requests.length).toBe(before)
    expect(await usageOf(money)).toEqual([expect.objectContaining({ used: 0 })])
    expect(await statuses([both()])).toEqual([200])
    expect(bench().second.requests.length).toBe(before + 1)
    expect(await usageOf(id)).toEqual([expect.objectContaining({ used: 1 })])
    const [{ used } = { used: 0 }] = await usageOf(money)
    expect(used).toBeGreaterThan(0)
    expect((await send(key.secret, { model: 'test/chat' })).status).toBe(429)
    const { gateway } = bench().server
    await gateway.ledger.flush()
    const { findings } = await checkLedger(gateway.db)
    expect(findings.flatMap(({ violations }) => violations)).toEqual([])
  })

  test('a quote has the limits that apply, and the first that rejects the request', async () => {
    const key = await createKey()
    const match = { key_hash: key.hash }
    await createLimit({ name: 'Day', measure: 'usd', window: 'day', amount: 5, match, per: ['end_user'] })
    await createLimit({ name: 'Few', measure: 'requests', window: 'minute', amount: 1, match })
    const quote = async () => {
      const body = { model: 'test/cent', messages: [{ role: 'user', content: 'Hello' }], user: 'alice' }
      return (await bench().server.call('POST', '/quote', { key: key.secret, body })).body.data
    }
    const named = (data: { limits: { name: string | null }[] }) => data.limits.filter(({ name }) => name)
    expect(named(await quote())).toEqual([
      expect.objectContaining({ name: 'Day', unit: 'usd', remaining: 5, needed: 0.01, would_fit: true }),
      expect.objectContaining({
        name: 'Few',
        unit: 'requests',
        interval: 'minute',
        spent: 0,
        would_fit: true,
      }),
    ] as never)
    expect(await statuses([send(key.secret, { user: 'alice' })])).toEqual([200])
    const { would, limits, refusal } = await quote()
    expect(would).toBe('be_refused')
    expect(refusal.error.code).toBe(429)
    expect(named({ limits })[1]).toMatchObject({ spent: 1, remaining: 0, would_fit: false })
  })

  test('a tag of requests keeps the case of its value', async () => {
    const key = await createKey()
    const match = { key_hash: key.hash, tags: ['Project=Apollo'] }
    await createLimit({ measure: 'requests', window: 'day', amount: 1, match })
    const tagged = (tags: string) =>
      sendRequest(
        bench(),
        'chat',
        { model: 'test/cent' },
        { key: key.secret, headers: { 'x-headgate-tags': tags } },
      )
    expect(await statuses([tagged('project=Apollo')])).toEqual([200])
    expect(await statuses([tagged('project=Apollo, team=x')])).toEqual([429])
    expect(await statuses([tagged('project=apollo')])).toEqual([200])
  })

  test('a fallback by reason neither evades a limit nor is counted by one of another model', async () => {
    const key = await createKey()
    const own = await createLimit({
      measure: 'usd',
      window: 'day',
      amount: 100,
      match: { key_hash: key.hash, models: ['test/cent'] },
    })
    const fallen = async () => {
      bench().first.enqueue({ status: 500, json: { error: { message: 'down' } } })
      const fallbacks = { error: ['test/both-chat'] }
      return statuses([send(key.secret, { fallbacks, max_tokens: 5 })])
    }
    expect(await fallen()).toEqual([200])
    expect(await usageOf(own)).toEqual([expect.objectContaining({ used: 0 })])
    const { gateway } = bench().server
    await gateway.ledger.flush()
    const { findings } = await checkLedger(gateway.db)
    expect(findings.flatMap(({ violations }) => violations)).toEqual([])
    await createLimit({
      measure: 'requests',
      window: 'day',
      amount: 100,
      match: { key_hash: key.hash, models: ['test/both-chat'] },
    })
    expect(await fallen()).not.toEqual([200])
  })

  test('dollars on a pattern of models', async () => {
    const key = await createKey()
    await createLimit({
      measure: 'usd',
      window: 'month',
      amount: 0.015,
      match: { key_hash: key.hash, models: ['test/c*'] },
    })
    expect(await statuses([send(key.secret)])).toEqual([200])
    expect(await statuses([send(key.secret)])).toEqual([402])
    expect(await statuses([send(key.secret, { model: 'test/both-chat', max_tokens: 5 })])).toEqual([200])
  })

  test('a tier is a set of limits for its keys, and changes for all of them', async () => {
    await bench().server.call('POST', '/tiers', { body: { name: 'free' } })
    const [one, two] = [await createKey({ tier: 'free' }), await createKey({ tier: 'free' })]
    const id = await createLimit({
      measure: 'requests',
      window: 'hour',
      amount: 1,
      match: { tier: 'free' },
      per: ['key'],
    })
    expect(await statuses([send(one.secret), send(two.secret)])).toEqual([200, 200])
    expect(await statuses([send(one.secret), send(two.secret)])).toEqual([429, 429])
    const counters = (await usageOf(id)).map(({ counter }) => counter.key)
    expect(counters.toSorted()).toEqual([one.hash, two.hash].toSorted())
    await bench().server.call('PATCH', `/limits/${id}`, { body: { amount: 2 } })
    expect(await statuses([send(one.secret), send(two.secret)])).toEqual([200, 200])
    expect((await bench().server.call('DELETE', '/tiers/free')).status).toBe(200)
    created.splice(0)
    expect(await statuses([send(one.secret)])).toEqual([200])
    expect((await bench().server.call('GET', `/keys/${one.hash}`)).body.data.tier).toBeNull()
  })

  test('a request that is rejected by one limit is not counted by others', async () => {
    const key = await createKey()
    const match = { key_hash: key.hash }
    const requests = await createLimit({ measure: 'requests', window: 'day', amount: 100, match })
    await createLimit({ measure: 'usd', window: 'day', amount: 0.01, match })
    expect(await statuses([send(key.secret)])).toEqual([200])
    expect(await statuses([send(key.secret), send(key.secret)])).toEqual([402, 402])
    expect(await usageOf(requests)).toEqual([expect.objectContaining({ used: 1 })])
  })

  test('a failed request counts as a request, and its tokens do not', async () => {
    const key = await createKey()
    const match = { key_hash: key.hash }
    const requests = await createLimit({ measure: 'requests', window: 'day', amount: 100, match })
    const tokens = await createLimit({ measure: 'tokens', window: 'day', amount: 100_000, match })
    bench().first.enqueue({ status: 400, json: { error: { message: 'no' } } })
    expect(await statuses([send(key.secret)])).toEqual([400])
    expect(await usageOf(requests)).toEqual([expect.objectContaining({ used: 1 })])
    expect(await usageOf(tokens)).toEqual([expect.objectContaining({ used: 0 })])
  })

  test.each([
    ['a window is missing', { measure: 'requests', amount: 1 }, 'window'],
    [
      'concurrent requests have no window',
      { measure: 'concurrent_requests', amount: 1, window: 'day' },
      'window',
    ],
    ['requests are whole', { measure: 'requests', amount: 1.5, window: 'day' }, 'amount'],
    [
      'an unknown tier',
      { measure: 'requests', amount: 1, window: 'day', match: { tier: 'gold' } },
      'match.tier',
    ],
    ['an unknown dimension', { measure: 'requests', amount: 1, window: 'day', per: ['moon'] }, 'per'],
    ['an unknown field', { measure: 'requests', amount: 1, window: 'day', match: { city: 'x' } }, 'city'],
  ])('a limit is rejected with the field in question: %s', async (_, body, field) => {
    const response = await bench().server.call('POST', '/limits', { body: { name: 'Bad', ...body } })
    expect(response.status).toBe(400)
    expect(response.body.error.message).toContain(field)
  })

  test('counts of windows that have ended are deleted, and those of the lifetime are not', async () => {
    const { gateway, clock } = bench().server
    const key = await createKey()
    const limits = [
      { measure: 'requests', window: 'lifetime', amount: 2, match: { key_hash: key.hash } },
      { measure: 'requests', window: 'day', amount: 2, match: { key_hash: key.hash } },
    ]
    const ids = [await createLimit(limits[0]!), await createLimit(limits[1]!)]
    expect(await statuses([send(key.secret)])).toEqual([200])
    await gateway.limitCounts.write()
    clock.freeze('2028-05-15T12:00:30.000Z')
    await gateway.limitCounts.deleteEnded()
    const stored = await gateway.db.selectFrom('limit_counts').select('limit_id').execute()
    const kept = stored.map(({ limit_id }) => limit_id).filter((id) => ids.includes(id))
    expect(kept).toEqual([ids[0]!])
    expect(await statuses([send(key.secret)])).toEqual([200])
    expect(await statuses([send(key.secret)])).toEqual([429])
  })

  test('what a request makes for another one counts its tokens, and is no further request', async () => {
    const { gateway, clock } = bench().server
    const requests = await createLimit({
      measure: 'requests',
      window: 'day',
      amount: 10,
      match: { end_user: 'x' },
    })
    const tokens = await createLimit({
      measure: 'tokens',
      window: 'day',
      amount: 10,
      match: { end_user: 'x' },
    })
    const rows = await gateway.db
      .selectFrom('limits')
      .selectAll()
      .where('id', 'in', [requests, tokens])
      .execute()
    const applied = rows.map((row) => ({
      rule: toLimitRule(row),
      counter: '',
      counts: null,
      isPartial: false,
    }))
    const nested = {
      ...estimateUse(1, { outputTokens: 1, choices: 1 }, noAmounts),
      requests: 0,
      concurrent_requests: 0,
    }
    const reserved = await LimitReservation.reserve(gateway.limitCounts, applied, nested, clock.now())
    if (!(reserved instanceof LimitReservation)) throw new Error('it fits')
    await reserved.settle(estimateUse(3, { outputTokens: 4, choices: 1 }, noAmounts), {} as Candidate)
    expect(await usageOf(requests)).toEqual([expect.objectContaining({ used: 0 })])
    expect(await usageOf(tokens)).toEqual([expect.objectContaining({ used: 7 })])
  })

  test('another organization neither sees nor has the limit', async () => {
    const id = await createLimit({ measure: 'requests', window: 'day', amount: 0 })
    const { call, foreign } = bench().server
    expect((await call('GET', `/limits/${id}`, { key: foreign.managementKey })).status).toBe(404)
    expect((await send(foreign.inferenceKey)).status).not.toBe(429)
    expect((await send((await createKey()).secret)).status).toBe(429)
  })
})
