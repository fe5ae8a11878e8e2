import { beforeEach, expect, test } from 'bun:test'
import type { CallOptions } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreams,
  type FormatName,
  formatNames,
  formats,
  listGenerations,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

describeWithUpstreams('POST /quote', (bench) => {
  beforeEach(() => clearGenerations(bench()))

  async function quoted(body: unknown, { key, headers }: CallOptions = {}, format?: string) {
    const { server } = bench()
    const path = format ? `/quote?format=${format}` : '/quote'
    return server.call('POST', path, {
      key: key ?? server.own.inferenceKey,
      body,
      ...(headers && { headers }),
    })
  }
  const quoteOf = async (...options: Parameters<typeof quoted>) => (await quoted(...options)).body.data

  async function newKey(body: Record<string, unknown> = {}) {
    const made = await bench().server.call('POST', '/keys', { body: { name: 'quoted', ...body } })
    return { key: made.body.key as string, hash: made.body.data.hash as string }
  }

  async function bookkeeping({ server }: Bench) {
    const { db } = server.gateway
    const [meters, holds] = await Promise.all([
      db.selectFrom('meters').selectAll().orderBy('subject').execute(),
      requestHolds(db).select('id').execute(),
    ])
    return { meters, holds, generations: (await listGenerations({ server } as Bench)).length }
  }

  test('R11 nothing is sent, held, counted or recorded', async () => {
    const before = await bookkeeping(bench())
    for (const format of formatNames) {
      await quoteOf({ model: 'test/both-chat', ...formats[format].body }, {}, format)
    }
    expect(await bookkeeping(bench())).toEqual(before)
    expect([...bench().first.requests, ...bench().second.requests]).toEqual([])
  })

  for (const format of formatNames) {
    for (const upstream of ['chat', 'messages', 'gemini'] as const) {
      test(`R3 ${format} over ${upstream}: it matches a real request and its hold`, async () => {
        const body = { ...formats[format].body, model: `test/both-${upstream}` }
        const quote = await quoteOf(body, {}, format)
        expect(quote).toMatchObject({ would: 'be_sent', refusal: null, attempt: 0 })
        const headers = { 'x-service-metadata': 'enabled' }
        const real = (await readJson(sendRequest(bench(), format, body, { headers }))).service_metadata
        const [row] = await waitForGenerations(bench(), 1)
        expect(quote.price.worst_case).toBe(Number(row?.hold_nanos) / 1e9)
        expect(quote.price.expected).toBeLessThan(quote.price.worst_case)
        expect(row?.endpoint).toBe(quote.endpoints.available[0].tag)
        const plain = (list: Record<string, unknown>[]) =>
          list.map(({ model, provider, tag, rank, why, share, reason }) => ({
            model,
            provider,
            tag,
            rank,
            why,
            share,
            reason,
          }))
        expect(plain(real.endpoints.available)).toEqual(plain(quote.endpoints.available))
        expect(real.endpoints.excluded).toEqual(quote.endpoints.excluded)
        expect(real.strategy).toBe(quote.strategy)
      })
    }
  }

  test('the format is detected from the body, and the header of Messages clients', async () => {
    const price = async (body: unknown, headers?: Record<string, string>) =>
      (await quoteOf(body, headers ? { headers } : {})).price.assumed
    const messages = [{ role: 'user', content: 'Hello there' }]
    const model = 'test/chat'
    expect(await price({ model, messages })).toEqual({ prompt_tokens: 3, completion_tokens: 500 })
    expect(await price({ model, input: 'Hello there', max_output_tokens: 7 })).toEqual({
      prompt_tokens: 3,
      completion_tokens: 7,
    })
    const contents = [{ role: 'user', parts: [{ text: 'Hello there' }] }]
    expect(await price({ model, contents, generationConfig: { maxOutputTokens: 8 } })).toEqual({
      prompt_tokens: 3,
      completion_tokens: 8,
    })
    expect(await price({ model, prompt: 'Hello there', max_tokens: 9 })).toEqual({
      prompt_tokens: 3,
      completion_tokens: 9,
    })
    // Only Messages has a system prompt outside the messages.
    const anthropic = { model, messages, max_tokens: 10, system: 'Be brief' }
    const read = await price(anthropic, { 'anthropic-version': '2023-06-01' })
    expect(read).toEqual({ prompt_tokens: 5, completion_tokens: 10 })
  })

  test('an invalid request is an error here too', async () => {
    const { messages } = formats.chat.body
    const unknown = await quoted({ model: 'unknown/model', messages })
    expect([unknown.status, unknown.body.error.metadata.reason]).toEqual([400, 'model_unknown'])
    const bad = await quoted({ model: 'test/chat', messages, max_tokens: 'many' })
    expect([bad.status, bad.body.error.message.split(':')[0]]).toEqual([400, 'max_tokens'])
    expect((await quoted({ model: 'test/chat', messages }, {}, 'morse')).status).toBe(400)
    const preset = await quoted({ model: '@preset/unknown', messages })
    expect(preset.status).toBe(404)
  })

  test('the draw by price is reported as shares, the same every time', async () => {
    Object.assign(bench().server.gateway.routing, { random: Math.random })
    const body = { model: 'test/both-chat', ...formats.chat.body, max_tokens: 100 }
    const first = await quoteOf(body)
    const { available } = first.endpoints
    expect(available[0].share + available[1].share).toBeCloseTo(1, 3)
    expect(available[0].share / available[1].share).toBeCloseTo((6 / 5) ** 2, 2)
    for (let time = 0; time < 5; time++) expect(await quoteOf(body)).toEqual(first)
    const average =
      available[0].share * available[0].price.expected + available[1].share * available[1].price.expected
    expect(first.price.expected).toBeCloseTo(average, 8)
    // Two tokens in, a hundred out.
    expect(available[0].price).toEqual({
      prompt: 1,
      completion: 4,
      worst_case: expect.any(Number),
      expected: 0.000402,
    })
  })

  test('R3 without fallbacks the hold covers each endpoint that may be drawn, not only the cheapest', async () => {
    const { routing } = bench().server.gateway
    const options = { ...formats.chat.body, max_tokens: 100, provider: { allow_fallbacks: false } }
    const quote = await quoteOf({ model: 'test/both-chat', ...options })
    expect(quote.endpoints.available.map(({ tag }: { tag: string }) => tag)).toHaveLength(2)
    const { worst_case } = quote.price
    const { key } = await newKey({ limit: worst_case - 1e-9 })
    expect((await quoteOf({ model: 'test/both-chat', ...options }, { key })).would).toBe('be_refused')
    routing.random = () => 0.999
    const { status } = await sendRequest(bench(), 'chat', { model: 'test/both-chat', ...options }, { key })
    routing.random = () => 0
    expect(status).toBe(402)
  })

  test('the fields of a preset count', async () => {
    const { server } = bench()
    const config = {
      model: 'test/both-chat',
      ...formats.chat.body,
      provider: { only: ['two-chat'] },
      max_tokens: 3,
    }
    await server.call('POST', '/presets/quoted/chat/completions', { body: config })
    const quote = await quoteOf({ model: '@preset/quoted', ...formats.chat.body })
    expect(quote).toMatchObject({ requested: '@preset/quoted', price: { assumed: { completion_tokens: 3 } } })
    expect(quote.endpoints.available).toMatchObject([{ tag: 'two-chat' }])
    expect(quote.endpoints.excluded).toMatchObject([{ tag: 'one-chat', reason: 'allowed_providers' }])
  })

  test('an earlier response counts', async () => {
    const input = 'x'.repeat(4000)
    const earlier = await readJson(
      sendRequest(bench(), 'responses', { model: 'test/responses', input, store: true }),
    )
    const body = { model: 'test/responses', input: 'And?', previous_response_id: earlier.id }
    expect((await quoteOf(body)).price.assumed.prompt_tokens).toBeGreaterThan(1000)
  })

  test('limits are reported as they are, and a rejection is that of a real request', async () => {
    const { key } = await newKey({ limit: 0.05, limit_reset: 'daily' })
    const body = { model: 'test/cent', ...formats.chat.body }
    const send = () => sendRequest(bench(), 'chat', { model: 'test/cent' }, { key })
    for (let spent = 0; spent < 5; spent++) {
      const quote = await quoteOf(body, { key })
      expect(quote.would).toBe('be_sent')
      expect(quote.limits.map(({ kind }: { kind: string }) => kind)).toEqual(['credits', 'key'])
      expect(quote.limits[1]).toEqual({
        kind: 'key',
        name: null,
        subject: 'key',
        interval: 'daily',
        unit: 'usd',
        limit: 0.05,
        spent: spent / 100,
        held: 0,
        remaining: (5 - spent) / 100,
        needed: 0.01,
        would_fit: true,
      })
      expect((await send()).status).toBe(200)
    }
    const quote = await quoteOf(body, { key })
    expect(quote.limits[1]).toMatchObject({ spent: 0.05, remaining: 0, would_fit: false })
    const real = await send()
    expect([quote.would, quote.refusal.error.code]).toEqual(['be_refused', real.status])
    expect(quote.refusal).toEqual(await readJson(real))
  })

  test('requests in flight count as held', async () => {
    const { key } = await newKey({ limit: 1 })
    bench().first.enqueue({ waitMs: 300, json: { choices: [] } })
    const under = sendRequest(bench(), 'chat', { model: 'test/cent' }, { key })
    await bench().first.waitForRequests(1)
    const quote = await quoteOf({ model: 'test/cent', ...formats.chat.body }, { key })
    expect(quote.limits[1]).toMatchObject({ spent: 0, held: 0.01, remaining: 0.99 })
    await (await under).text()
  })

  test('R3 with a BYOK key the fee is held, and the list price counted at the provider', async () => {
    const { server } = bench()
    const key = { provider: 'one-chat', key: 'own-credential-0123456789', is_byok_only: true }
    const { id } = (await server.call('POST', '/byok', { body: key })).body.data
    try {
      const body = { model: 'test/chat', ...formats.chat.body }
      const quote = await quoteOf(body)
      expect(quote).toMatchObject({ is_byok: true, endpoints: { available: [{ own_key: id }] } })
      expect(quote.endpoints.excluded).toMatchObject([{ reason: 'own_key_required' }])
      expect(JSON.stringify(quote)).not.toContain('own-credential')
      await readJson(sendRequest(bench(), 'chat', { model: 'test/chat' }))
      const [row] = await waitForGenerations(bench(), 1)
      expect(quote.price.worst_case).toBe(Number(row?.hold_nanos) / 1e9)
      expect(quote.price.worst_case_at_provider * 0.05).toBeCloseTo(quote.price.worst_case, 8)
    } finally {
      await server.call('DELETE', `/byok/${id}`)
    }
  })

  test('S2 an inference key learns whether the credits suffice, not the balance', async () => {
    const quote = await quoteOf({ model: 'test/cent', ...formats.chat.body })
    expect(quote.limits[0]).toMatchObject({
      kind: 'credits',
      limit: null,
      spent: null,
      held: null,
      would_fit: true,
    })
  })

  test('free variants are counted in requests', async () => {
    const quote = await quoteOf({ model: 'test/gift:free', ...formats.chat.body })
    const requests = quote.limits.filter(({ unit }: { unit: string }) => unit === 'requests')
    expect(requests).toMatchObject([
      { kind: 'free_requests', interval: 'minute', limit: 20, spent: 0, would_fit: true },
      { kind: 'free_requests', interval: 'daily', needed: 1 },
    ])
  })

  test('R35 content filters are described, and what they would do is reported', async () => {
    const { server } = bench()
    const { key, hash } = await newKey()
    const assign = async (body: object) => {
      const { id } = (await server.call('POST', '/guardrails', { body })).body.data
      await server.call('POST', `/guardrails/${id}/assignments/keys`, { body: { key_hashes: [hash] } })
    }
    const messages = [{ role: 'user', content: 'I am ada@example.com, 123-45-6789' }]
    const content_filter_builtins = [
      { slug: 'email', action: 'redact' },
      { slug: 'ssn', action: 'block' },
    ]
    await assign({ name: 'quoted filters', content_filter_builtins, unscannable_content: 'block' })
    const refused = await quoteOf({ model: 'test/chat', messages }, { key })
    expect(refused.would).toBe('be_refused')
    expect(refused.refusal.error.message).toBe('Request blocked by content filter: [SSN]')
    expect(refused.hits).toMatchObject([
      { rule: 'email', action: 'redact', enforced: true, count: 1 },
      { rule: 'ssn', action: 'block', enforced: true, count: 1 },
    ])
    expect(refused.guardrails.map(({ effect }: { effect: string }) => effect)).toEqual([
      'Prompts are redacted where they match: email.',
      'Prompts are blocked if they match: ssn.',
      'Requests with content that no filter can read are blocked.',
    ])
    await assign({ name: 'quoted trial', content_filter_builtins, dry_run: true })
    const trial = await quoteOf({ model: 'test/chat', messages }, { key })
    expect(trial.would).toBe('be_sent')
    expect(trial.hits.map(({ enforced }: { enforced: boolean }) => enforced)).toEqual([false, false])
    expect(trial.guardrails.every(({ dry_run }: { dry_run: boolean }) => dry_run)).toBe(true)
  })

  test('guardrails are reported with their layers and what they exclude', async () => {
    const { server } = bench()
    const { key, hash } = await newKey()
    const made = await server.call('POST', '/guardrails', {
      body: { name: 'not the first', ignored_providers: ['one-chat'] },
    })
    const { id } = made.body.data
    await server.call('POST', `/guardrails/${id}/assignments/keys`, { body: { key_hashes: [hash] } })
    const quote = await quoteOf({ model: 'test/both-chat', ...formats.chat.body }, { key })
    expect(quote.guardrails).toEqual([
      {
        field: 'ignored_providers',
        layers: ['key'],
        effect: 'These providers may not be used: one-chat.',
        dry_run: false,
        excludes: 1,
      },
    ])
    expect(quote.endpoints.excluded).toMatchObject([
      { tag: 'one-chat', reason: 'guardrail:ignored_providers' },
    ])
    const rejected = await quoteOf({ model: 'test/chat', ...formats.chat.body }, { key })
    expect(rejected.would).toBe('be_refused')
    expect(rejected.refusal).toEqual(
      await readJson(sendRequest(bench(), 'chat', { model: 'test/chat' }, { key })),
    )
  })

  test('a rejection has the format of the request', async () => {
    const key = bench().server.foreign.inferenceKey
    for (const format of formatNames satisfies FormatName[]) {
      const body = { ...formats[format].body, model: 'test/chat' }
      const real = await readJson(sendRequest(bench(), format, body, { key }))
      const { refusal } = await quoteOf(body, { key }, format)
      const { request_id: _quoted, ...rest } = refusal
      const { request_id: _real, ...expected } = real
      expect(rest).toEqual(expected)
    }
  })

  test('endpoints of providers without a key are named', async () => {
    const { catalog } = bench().server.gateway
    const distant = catalog.models.find(
      ({ callable, output_modalities }) => callable.length === 0 && output_modalities.includes('text'),
    )
    const quote = await quoteOf({ model: distant?.id, ...formats.chat.body })
    expect(quote.endpoints.total).toBe(distant?.endpoints.length ?? 0)
    expect(quote.endpoints.excluded).toHaveLength(quote.endpoints.total)
    for (const { reason } of quote.endpoints.excluded) expect(reason).toBe('no_credential')
    expect(quote).toMatchObject({ would: 'be_refused', price: { worst_case: null }, limits: [] })
    expect(quote.refusal.error.code).toBe(404)
  })

  test('an unknown price is null, and rejected for a key with a limit', async () => {
    const body = { model: 'test/unpriced', ...formats.chat.body }
    const quote = await quoteOf(body)
    expect(quote.endpoints.available[0].price).toEqual({
      prompt: null,
      completion: null,
      worst_case: null,
      expected: null,
    })
    const { key } = await newKey({ limit: 1 })
    const limited = await quoteOf(body, { key })
    expect(limited).toMatchObject({ would: 'be_refused', refusal: { error: { code: 402 } } })
  })

  test('a strict client is rejected with the fields that would be dropped', async () => {
    const body = { model: 'test/messages', ...formats.chat.body, logit_bias: { '1': 2 } }
    const quote = await quoteOf(body, { headers: { 'x-headgate-strict': 'true' } })
    expect(quote.refusal.error.metadata).toMatchObject({ reason: 'loss_refused', dropped: ['logit_bias'] })
    expect((await quoteOf(body)).would).toBe('be_sent')
  })

  test('it counts in the requests per minute', async () => {
    const { clock, gateway } = bench().server
    const { limits } = gateway.settings
    const { key } = await newKey()
    clock.freeze(new Date().toISOString())
    const usual = limits.requests_per_minute
    Object.assign(limits, { requests_per_minute: 2 })
    try {
      const body = { model: 'test/chat', ...formats.chat.body }
      const statuses = []
      for (let time = 0; time < 3; time++) statuses.push((await quoted(body, { key })).status)
      expect(statuses).toEqual([200, 200, 429])
    } finally {
      Object.assign(limits, { requests_per_minute: usual })
      clock.release()
    }
  })
})
