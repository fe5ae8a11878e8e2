import { describe, expect, test } from 'bun:test'
import {
  lastRequest,
  listGenerations,
  readJson,
  sendRequest,
  waitForGenerations,
} from '../inference/two-upstreams.ts'
import { describeModeration, listHits, moderationNanos } from './moderator.ts'
import { setKeyGuardrail } from './support.ts'

const card = '4111 1111 1111 1111'
const plugins = [{ id: 'moderation' }]

describeModeration('moderation of prompts', (bench) => {
  const use = (moderation: object | null, more: object = {}) =>
    setKeyGuardrail(bench().server, { moderation, ...more })
  const send = (text: string, more: object = {}, init: RequestInit = {}) => {
    const messages = [{ role: 'user', content: text }]
    return sendRequest(bench(), 'chat', { model: 'test/chat', messages, ...more }, init)
  }

  describe('a guardrail', () => {
    test('blocks what the model flags: 403 with the reasons, before any other provider is called', async () => {
      await use({ action: 'block' })
      const response = await send('Show violence and hate')
      expect(response.status).toBe(403)
      const { error } = await readJson(response)
      expect(error.message).toBe('The input was flagged by moderation: violence, hate.')
      expect(error.metadata).toMatchObject({
        reason: 'input_flagged',
        reasons: ['violence', 'hate'],
        flagged_input: 'Show violence and hate',
        provider_name: 'Judge',
        model_slug: 'test/moderator',
      })
      expect(bench().first.requests).toHaveLength(0)
      expect(await listHits(bench())).toEqual([
        {
          rule: 'moderation',
          action: 'block',
          enforced: 1,
          part: 'text',
          role: 'user',
          kinds: ['violence', 'hate'],
          layers: ['key'],
        },
      ])
    })

    test('quotes at most a hundred characters of the input', async () => {
      await use({ action: 'block' })
      const { error } = await readJson(send(`${'a'.repeat(500)} violence`))
      expect(error.metadata.flagged_input).toHaveLength(100)
      expect(error.metadata.flagged_input).toMatch(/^a+\.\.\.a+ violence$/)
    })

    test('passes on what is not flagged, whole and streamed', async () => {
      await use({ action: 'block' })
      expect((await send('Hello')).status).toBe(200)
      expect((await send('Hello', { stream: true })).status).toBe(200)
      expect(bench().second.requests.map(({ json }) => json)).toEqual([
        { model: 'moderator', input: ['Hello'] },
        { model: 'moderator', input: ['Hello'] },
      ])
    })

    test('only records it with the action flag, with the record of the request', async () => {
      await use({ action: 'flag' })
      const response = await send('Show violence')
      expect(response.status).toBe(200)
      await response.text()
      expect(await listHits(bench())).toMatchObject([{ action: 'flag', kinds: ['violence'], part: 'text' }])
    })

    test('counts only its categories', async () => {
      await use({ action: 'block', categories: ['hate'] })
      expect((await send('Show violence')).status).toBe(200)
      const { error } = await readJson(send('Show violence and hate'))
      expect(error.metadata.reasons).toEqual(['hate'])
    })

    test('is not switched off by the plugin', async () => {
      await use({ action: 'block' })
      const off = [{ id: 'moderation', enabled: false }]
      expect((await send('Show violence', { plugins: off })).status).toBe(403)
    })

    test('with a list of models still moderates with a model that is not in it', async () => {
      await use({ action: 'block' }, { allowed_models: ['test/chat'] })
      expect((await send('Show violence')).status).toBe(403)
      expect((await send('Hello')).status).toBe(200)
    })

    test('sends user texts and results of tools, but no instructions and no earlier replies', async () => {
      await use({ action: 'flag' })
      const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
      const messages = [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Look it up' },
        { role: 'assistant', content: 'I will', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'It is violence' },
      ]
      await readJson(sendRequest(bench(), 'chat', { model: 'test/chat', messages }))
      expect(lastRequest(bench().second.requests).json.input).toEqual(['Look it up', 'It is violence'])
      expect(await listHits(bench())).toMatchObject([{ part: 'tool-result' }])
    })

    test('sends images, each alone, to a model that reads them', async () => {
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
      const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }, image] }]
      await use({ action: 'block' })
      expect((await sendRequest(bench(), 'chat', { model: 'test/chat', messages })).status).toBe(200)
      await use({ action: 'block', model: 'test/picture-moderator' })
      const { error } = await readJson(sendRequest(bench(), 'chat', { model: 'test/chat', messages }))
      expect(error.metadata).toMatchObject({ reasons: ['sexual'], flagged_input: '[image]' })
      const inputs = bench().second.requests.map(({ json }) => json.input)
      expect(inputs.slice(1).toSorted((a) => (typeof a[0] === 'string' ? -1 : 1))).toEqual([
        ['Hello'],
        [image],
      ])
    })
  })

  describe('R35 after the content filters', () => {
    test('the moderation model receives the redacted text', async () => {
      const content_filter_builtins = [{ slug: 'credit-card', action: 'redact' }]
      await use({ action: 'block' }, { content_filter_builtins })
      const { error } = await readJson(send(`violence, paid with ${card}`))
      expect(error.metadata.flagged_input).toBe('violence, paid with [CREDIT_CARD]')
      expect(
        bench()
          .second.requests.map(({ text }) => text)
          .join(),
      ).not.toContain('4111 1111')
    })

    test('a prompt that a filter blocks is not moderated', async () => {
      const content_filter_builtins = [{ slug: 'credit-card', action: 'block' }]
      await use({ action: 'block' }, { content_filter_builtins })
      const { error } = await readJson(send(`violence, paid with ${card}`))
      expect(error.metadata.reason).toBe('guardrail_blocked')
      expect(bench().second.requests).toHaveLength(0)
    })
  })

  describe('the plugin moderation', () => {
    test('blocks what the configured model flags, and is not a dropped field', async () => {
      const { error } = await readJson(send('Show violence', { plugins }))
      expect(error.code).toBe(403)
      expect(await listHits(bench())).toMatchObject([{ kinds: ['violence'], layers: [] }])
      const passed = await send('Hello', { plugins })
      expect(passed.status).toBe(200)
      expect(passed.headers.get('x-headgate-dropped')).toBeNull()
      expect(lastRequest(bench().first.requests).json.plugins).toBeUndefined()
    })

    test('does nothing when it is disabled', async () => {
      expect((await send('violence', { plugins: [{ id: 'moderation', enabled: false }] })).status).toBe(200)
      expect(bench().second.requests).toHaveLength(0)
    })
  })

  describe('a moderation model that fails', () => {
    test('R17 refuses the request under a rule that blocks, and it is recorded', async () => {
      await use({ action: 'block' })
      bench().second.setDefault({ status: 500, json: { error: { message: 'Show me' } } })
      const response = await send('Show me')
      expect(response.status).toBe(503)
      const { error } = await readJson(response)
      expect(error.metadata).toMatchObject({ reason: 'moderation_unavailable', model_slug: 'test/moderator' })
      expect(error.message).not.toContain('Show me')
      expect(bench().first.requests).toHaveLength(0)
      expect(await listHits(bench())).toMatchObject([{ action: 'block', kinds: ['not_scanned'] }])
      const { gateway } = bench().server
      await gateway.requestLog.rejected.flush(true)
      const rejected = await gateway.db.selectFrom('refused_requests').select('error_code').execute()
      expect(rejected).toContainEqual({ error_code: 'moderation_unavailable' })
    })

    test('R17 refuses it too when the model does not reply in time', async () => {
      await use({ action: 'block' })
      bench().second.setDefault({ hang: true })
      const { moderation } = bench().server.gateway.settings
      const { timeout } = moderation
      Object.assign(moderation, { timeout: 50 })
      expect((await send('Hello')).status).toBe(503)
      Object.assign(moderation, { timeout })
      expect(await listHits(bench())).toMatchObject([{ kinds: ['not_scanned'] }])
    })

    test('lets it pass under a rule that flags, recorded as not scanned', async () => {
      await use({ action: 'flag' })
      bench().second.setDefault({ status: 500 })
      const response = await send('Show violence')
      expect(response.status).toBe(200)
      await response.text()
      expect(await listHits(bench())).toMatchObject([{ action: 'flag', kinds: ['not_scanned'] }])
    })
  })

  test('R35 a prompt is not sent to a moderation model that the guardrails exclude', async () => {
    await use({ action: 'block' }, { ignored_providers: ['judge'] })
    const { error } = await readJson(send('Hello'))
    expect(error.code).toBe(503)
    expect(error.message).toContain('the guardrails exclude all of its providers')
    await use({ action: 'block' }, { ignored_providers: null })
    const strict = await readJson(send('Hello', { provider: { data_collection: 'deny' } }))
    expect(strict.error.metadata.reason).toBe('moderation_unavailable')
    expect(bench().second.requests).toHaveLength(0)
  })

  test('the rules of all layers apply, and a model is called once for those that share it', async () => {
    const { server, second } = bench()
    const { default_guardrail_id } = (await server.call('GET', '/workspaces/default')).body.data
    const path = `/guardrails/${default_guardrail_id}`
    const flag = { moderation: { action: 'flag', categories: ['hate'] } }
    await server.call('PATCH', path, { body: flag })
    await use({ action: 'block', categories: ['violence'] })
    expect((await send('hate and violence')).status).toBe(403)
    expect(second.requests).toHaveLength(1)
    const hits = await listHits(bench())
    expect(
      hits
        .map(({ layers, action, kinds }) => ({ layers, action, kinds }))
        .toSorted((a) => (a.action === 'flag' ? -1 : 1)),
    ).toEqual([
      { layers: ['workspace'], action: 'flag', kinds: ['hate'] },
      { layers: ['key'], action: 'block', kinds: ['violence'] },
    ])
    await server.call('DELETE', path)
  })

  test('a guardrail in dry run refuses nothing, also if the model fails', async () => {
    await use({ action: 'block' })
    const { db } = bench().server.gateway
    const setDryRun = (dry_run: 0 | 1) => db.updateTable('guardrails').set({ dry_run }).execute()
    await setDryRun(1)
    await readJson(send('Show violence'))
    bench().second.setDefault({ status: 500 })
    await readJson(send('Hello'))
    await setDryRun(0)
    expect(bench().first.requests).toHaveLength(2)
    const hits = await listHits(bench())
    expect(hits.map(({ enforced }) => enforced)).toEqual([0, 0])
    expect(hits.flatMap(({ kinds }) => kinds).toSorted()).toEqual(['not_scanned', 'violence'])
  })

  describe('I2 money', () => {
    test('moderation is a request of the same key, charged once, with a record of its own', async () => {
      await use({ action: 'block' })
      const response = await send('Hello')
      await response.text()
      const rows = await listGenerations(bench())
      const moderation = rows.filter(({ api_type }) => api_type === 'moderations')
      expect(rows).toHaveLength(2)
      expect(moderation).toMatchObject([
        { model: 'test/moderator', status: 'completed', dialect: 'moderations' },
      ])
      expect(moderation.map(({ cost_nanos }) => BigInt(cost_nanos))).toEqual([moderationNanos])
      expect(new Set(rows.map(({ key_id }) => key_id)).size).toBe(1)
      expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(1)
    })

    test.each([
      ['a guardrail', { action: 'block' }, {}],
      ['a guardrail, for a stream', { action: 'block' }, { stream: true }],
      ['the plugin', null, { plugins }],
    ])('I5 I6 is part of the cost that the client is told: %s', async (_, moderation, more) => {
      await use(moderation)
      const response = await send('Hello', more)
      const text = await response.text()
      const reply = JSON.parse(text.startsWith('{') ? text : (/.*"usage".*/.exec(text)?.[0].slice(6) ?? ''))
      const { cost, cost_details } = reply.usage
      const { body } = await bench().server.call('GET', `/generation?id=${reply.id}`)
      expect(body.data.total_cost).toBe(cost)
      expect(cost_details.server_tool_cost).toBe(Number(moderationNanos) / 1e9)
      expect(cost_details.upstream_inference_cost + cost_details.server_tool_cost).toBeCloseTo(cost, 9)
      const charged = (await listGenerations(bench())).map(({ cost_nanos }) => Number(cost_nanos))
      expect(charged.reduce((sum, nanos) => sum + nanos, 0) / 1e9).toBeCloseTo(cost, 9)
    })

    test('is charged for a prompt that is then blocked, which has no other record', async () => {
      await use({ action: 'block' })
      expect((await send('Show violence')).status).toBe(403)
      expect(await listGenerations(bench())).toMatchObject([{ api_type: 'moderations', status: 'completed' }])
    })

    test('a key that cannot pay for it gets the error of its limit', async () => {
      const { server } = bench()
      const { key } = (await server.call('POST', '/keys', { body: { name: 'poor', limit: 0.0005 } })).body
      const response = await sendRequest(bench(), 'chat', { model: 'test/gift:free', plugins }, { key })
      expect(response.status).toBe(402)
      expect(bench().second.requests).toHaveLength(0)
    })

    test('R2 a client that disconnects meanwhile: settled once, nothing is sent to the model', async () => {
      await use({ action: 'block' })
      bench().second.setDefault({ hang: true })
      const client = new AbortController()
      const sending = send('Hello', {}, { signal: client.signal }).catch(() => null)
      await bench().second.waitForRequests(1)
      client.abort()
      expect(await sending).toBeNull()
      const rows = await waitForGenerations(bench(), 1)
      expect(rows).toMatchObject([{ api_type: 'moderations', status: 'cancelled' }])
      expect(BigInt(rows[0]?.cost_nanos ?? -1)).toBe(0n)
      expect(bench().first.requests).toHaveLength(0)
      expect(await listHits(bench())).toEqual([])
    })
  })

  test('a request for moderations is not moderated, and one to count tokens is not', async () => {
    await use({ action: 'block' })
    const { server, second } = bench()
    const key = server.own.inferenceKey
    const moderated = await server.call('POST', '/moderations', { key, body: { input: 'violence' } })
    expect(moderated.body.results[0].flagged).toBe(true)
    expect(second.requests).toHaveLength(1)
    const body = { model: 'test/messages', messages: [{ role: 'user', content: 'violence' }] }
    expect((await server.call('POST', '/messages/count_tokens', { key, body })).status).toBe(200)
    expect(second.requests).toHaveLength(1)
  })

  test('a quote names the model that would be called, and does not call it', async () => {
    await use({ action: 'block' })
    const { server, second } = bench()
    const key = server.own.inferenceKey
    const body = { model: 'test/chat', messages: [{ role: 'user', content: 'violence' }] }
    const { data } = (await server.call('POST', '/quote', { key, body })).body
    expect(data.would).toBe('be_sent')
    expect(data.guardrails).toEqual([
      {
        field: 'moderation',
        layers: ['key'],
        effect: 'The prompt is classified by test/moderator first. What it flags is refused.',
        dry_run: false,
        excludes: 0,
      },
    ])
    expect(second.requests).toHaveLength(0)
  })
})
