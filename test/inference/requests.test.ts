import { beforeEach, describe, expect, test } from 'bun:test'
import { loadOperations } from '../../src/api/all.ts'
import { OriginReachability } from '../../src/platform/http/origin-reachability.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  formatNames,
  lastRequest,
  readJson,
  sendPassingTime,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const operations = await loadOperations()

describeWithUpstreams('a request', (bench) => {
  beforeEach(() => clearGenerations(bench()))
  const { server } = { server: () => bench().server }

  test('R31 reaches an upstream of its own format with unknown fields, and without gateway fields', async () => {
    const body = {
      model: 'test/chat',
      wibble: { deep: [1] },
      provider: { ignore: ['x'] },
      session_id: 's',
      models: [],
    }
    const response = await sendRequest(bench(), 'chat', body)
    expect(response.headers.get('x-headgate-dropped')).toBeNull()
    const { json, headers } = lastRequest(bench().first.requests)
    expect(json).toMatchObject({ model: 'vendor-model', wibble: { deep: [1] } })
    for (const ours of ['provider', 'session_id', 'models']) expect(json).not.toHaveProperty(ours)
    expect(headers.authorization).toBe('Bearer vendor-secret')
    expect(JSON.stringify(headers)).not.toContain(server().own.inferenceKey)
  })

  test('R31 a strict request skips endpoints that would drop a field, and is rejected when all would', async () => {
    const strict = { headers: { 'x-headgate-strict': 'true' } }
    const body = { model: 'test/both-chat', seed: 1 }
    const order = { provider: { order: ['two-chat'] } }
    expect((await readJson(sendRequest(bench(), 'chat', { ...body, ...order }, strict))).provider).toBe(
      'one-chat',
    )
    bench().first.enqueue({ status: 500, json: {} })
    expect((await sendRequest(bench(), 'chat', body, strict)).status).toBe(502)
    const only = { provider: { only: ['two-chat'] } }
    expect((await sendRequest(bench(), 'chat', { ...body, ...only }, strict)).status).toBe(400)
  })

  test('R31 fields that another format cannot carry are named, and rejected in strict mode', async () => {
    const body = { model: 'test/messages', logit_bias: { '1': 2 }, wibble: 1 }
    const response = await sendRequest(bench(), 'chat', body)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-headgate-dropped')).toBe('logit_bias, wibble')
    const strict = await sendRequest(bench(), 'chat', body, { headers: { 'x-headgate-strict': 'true' } })
    expect(strict.status).toBe(400)
    expect((await readJson(strict)).error.metadata.dropped).toEqual(['logit_bias', 'wibble'])
  })

  test('R29 reasoning formats have the names that SDKs know, and neutral ones on request', async () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' }
    const json = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'vendor-model',
      content: [thinking, { type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 5 },
    }
    const formatWith = async (headers: Record<string, string>) => {
      bench().first.enqueue({ status: 200, json })
      const body = await readJson(sendRequest(bench(), 'chat', { model: 'test/messages' }, { headers }))
      return body.choices[0].message.reasoning_details[0].format
    }
    expect(await formatWith({})).toBe('anthropic-claude-v1')
    expect(await formatWith({ 'x-headgate-reasoning-formats': 'neutral' })).toBe('vendor_a-v1')
  })

  test('R31 beta headers of the Messages vendor are passed to it, and to no other', async () => {
    const headers = { 'anthropic-beta': 'a-2026,b-2026', 'anthropic-version': '2026-10-21' }
    await sendRequest(bench(), 'messages', { model: 'test/messages' }, { headers })
    expect(lastRequest(bench().first.requests).headers).toMatchObject(headers)
    await sendRequest(bench(), 'messages', { model: 'test/chat' }, { headers })
    expect(lastRequest(bench().first.requests).headers).not.toHaveProperty('anthropic-beta')
  })

  for (const format of formatNames) {
    test(`${format}: cost, usage and record agree, and the key's usage grows by it`, async () => {
      const before = (await server().call('GET', '/key', { key: server().own.inferenceKey })).body.data.usage
      const response = await sendRequest(bench(), format, { model: 'test/chat' })
      const body = await readJson(response)
      const [row] = await waitForGenerations(bench(), 1)
      expect(response.headers.get('x-generation-id')).toBe(row?.id ?? '')
      expect(body.usage.cost).toBe(Number(row?.cost_nanos) / 1e9)
      expect(row).toMatchObject({
        model: 'test/chat',
        provider: 'one-chat',
        dialect: format,
        status: 'completed',
      })
      server().clock.advance(2000)
      const after = (await server().call('GET', '/key', { key: server().own.inferenceKey })).body.data.usage
      expect(after - before).toBeCloseTo(body.usage.cost, 9)
    })

    test(`${format}: errors have the envelope of the format`, async () => {
      const unknown = await sendRequest(bench(), format, { model: 'unknown/model' })
      const body = await readJson(unknown)
      expect(unknown.status).toBe(400)
      expect(body.error).toMatchObject({ code: 400, type: 'invalid_request_error' })
      if (format === 'messages') expect(body.type).toBe('error')
    })
  }

  test('R11 every operation that reaches a model is settled, or says why not', async () => {
    const reaching = operations.filter((operation) => operation.inference).map(({ id }) => id)
    expect(reaching.sort()).toEqual([
      'cohereChat',
      'cohereEmbed',
      'cohereRerank',
      'compactResponse',
      'countMessageTokens',
      'countResponseTokens',
      'createChatCompletion',
      'createCompletion',
      'createEmbeddings',
      'createImages',
      'createMessage',
      'createModeration',
      'createResponse',
      'createSpeech',
      'createTranscription',
      'createTranslation',
      'createVideo',
      'editImages',
      'generateContent',
      'generateContentOfAuthor',
      'generateContentOfPublisher',
      'generateContentOfPublisherAndAuthor',
      'ollamaChat',
      'ollamaEmbed',
      'ollamaEmbeddings',
      'ollamaGenerate',
      // See test/clients/passthrough.test.ts.
      'passThroughDelete',
      'passThroughGet',
      'passThroughPatch',
      'passThroughPost',
      'passThroughPut',
      // Reaches none: see quote.test.ts.
      'quoteRequest',
      'rerankDocuments',
    ])
  })

  test.each([
    '/v1/models/test%2Fchat',
    '/v1/models/test/chat',
    '/v1beta1/publishers/test/models/chat',
    '/v1/projects/p/locations/l/publishers/google/models/test/chat',
  ])('R11 %s:generateContent is held to credits and settled once', async (path) => {
    const send = (key: string) =>
      fetch(`${server().url}${path}:generateContent`, {
        method: 'POST',
        headers: { 'x-goog-api-key': key },
        body: JSON.stringify({ contents: [{ parts: [{ text: 'Hello' }] }] }),
      })
    expect((await send(server().foreign.inferenceKey)).status).toBe(402)
    expect(bench().first.requests).toEqual([])
    expect((await send(server().own.inferenceKey)).status).toBe(200)
    const rows = await waitForGenerations(bench(), 1)
    expect(rows.map(({ model, status }) => [model, status])).toEqual([['test/chat', 'completed']])
  })

  test('R11 /v2/chat is held to credits and settled once', async () => {
    const send = (key: string) =>
      fetch(`${server().url}/v2/chat`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'test/chat', messages: [{ role: 'user', content: 'Hello' }] }),
      })
    expect((await send(server().foreign.inferenceKey)).status).toBe(402)
    expect(bench().first.requests).toEqual([])
    expect((await send(server().own.inferenceKey)).status).toBe(200)
    const rows = await waitForGenerations(bench(), 1)
    expect(rows.map(({ model, status }) => [model, status])).toEqual([['test/chat', 'completed']])
  })

  test('402 without credits, before any provider is called', async () => {
    const key = server().foreign.inferenceKey
    for (const format of formatNames) {
      const rejected = await sendRequest(bench(), format, { model: 'test/chat' }, { key })
      expect(rejected.status).toBe(402)
      expect((await readJson(rejected)).error.type).toBe('billing_error')
    }
    expect(bench().first.requests).toEqual([])
  })

  test('R3 402 when the worst case does not fit into the limit of the key, and reports the amount needed', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'small', limit: 0.000001 } })
    const { key, data } = made.body
    const send = () => sendRequest(bench(), 'chat', { model: 'test/chat', max_tokens: 50 }, { key })
    const rejected = await send()
    const { error } = await readJson(rejected)
    expect([rejected.status, error.code, error.metadata.reason]).toEqual([402, 402, 'key_limit_reached'])
    await server().call('PATCH', `/keys/${data.hash}`, { body: { limit: error.metadata.needed } })
    expect((await send()).status).toBe(200)
    expect((await send()).status).toBe(402)
  })

  test('a disabled key is rejected at once', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'short-lived' } })
    const { key, data } = made.body
    expect((await sendRequest(bench(), 'chat', { model: 'test/chat' }, { key })).status).toBe(200)
    await server().call('PATCH', `/keys/${data.hash}`, { body: { disabled: true } })
    expect((await sendRequest(bench(), 'chat', { model: 'test/chat' }, { key })).status).toBe(401)
  })

  test('a guardrail that ignores the provider, or allows other models only, is 403', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'guarded' } })
    const { key, data } = made.body
    const guardrail = await server().call('POST', '/guardrails', {
      body: { name: 'no first provider', ignored_providers: ['one-chat'] },
    })
    const id = guardrail.body.data.id
    await server().call('POST', `/guardrails/${id}/assignments/keys`, { body: { key_hashes: [data.hash] } })
    const blocked = await sendRequest(bench(), 'chat', { model: 'test/chat' }, { key })
    expect(blocked.status).toBe(403)
    expect(
      (await readJson(sendRequest(bench(), 'chat', { model: 'test/both-chat' }, { key }))).provider,
    ).toBe('two-chat')
    await server().call('PATCH', `/guardrails/${id}`, {
      body: { ignored_providers: null, allowed_models: ['test/messages'] },
    })
    expect((await sendRequest(bench(), 'chat', { model: 'test/chat' }, { key })).status).toBe(403)
    expect((await sendRequest(bench(), 'chat', { model: 'test/messages' }, { key })).status).toBe(200)
  })

  describe('presets', () => {
    const preset = {
      model: 'test/chat',
      temperature: 0.25,
      messages: [{ role: 'system', content: 'Be brief.' }],
    }
    beforeEach(() => server().call('POST', '/presets/brief/chat/completions', { body: preset }))

    test.each([
      ['@preset/brief', {}],
      ['test/chat@preset/brief', {}],
      ['test/chat', { preset: 'brief' }],
    ])('model %s with %j takes what the preset says', async (model, extra) => {
      expect((await sendRequest(bench(), 'chat', { model, ...extra })).status).toBe(200)
      const { json } = lastRequest(bench().first.requests)
      expect(json).toMatchObject({ model: 'vendor-model', temperature: 0.25 })
      expect(json.messages).toEqual([
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ])
      expect(json).not.toHaveProperty('preset')
    })

    test('fields of the request take precedence', async () => {
      await sendRequest(bench(), 'chat', { model: 'test/chat@preset/brief', temperature: 1 })
      expect(lastRequest(bench().first.requests).json.temperature).toBe(1)
    })

    test('in another format: the system prompt and the common fields', async () => {
      await sendRequest(bench(), 'messages', { model: 'test/messages@preset/brief' })
      expect(lastRequest(bench().first.requests).json).toMatchObject({
        system: 'Be brief.',
        temperature: 0.25,
      })
    })

    test('one that does not exist is 404', async () => {
      expect((await sendRequest(bench(), 'chat', { model: '@preset/nothing' })).status).toBe(404)
    })
  })
})

describeWithUpstreams(
  'limits',
  (bench) => {
    test('413 for a body that is too large', async () => {
      const response = await sendRequest(bench(), 'chat', { model: 'test/chat', padding: 'x'.repeat(70_000) })
      expect(response.status).toBe(413)
    })
    test('400 for JSON that is nested too deeply', async () => {
      const deep = `${'['.repeat(200)}${']'.repeat(200)}`
      const response = await fetch(`${bench().server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bench().server.own.inferenceKey}` },
        body: `{"model":"test/chat","messages":[],"x":${deep}}`,
      })
      expect(response.status).toBe(400)
    })
    test('408 when a whole reply takes too long', async () => {
      bench().first.enqueue({ hang: true })
      const response = await sendPassingTime(bench(), 'chat', { model: 'test/chat' })
      expect(response.status).toBe(408)
      expect((await lastRequest(bench().first.requests).done).closedByPeerAt).not.toBeNull()
    })
    test('408 when a provider cannot be connected to in time, and the next one serves the request', async () => {
      const { port } = new URL(bench().first.url)
      const silent = new OriginReachability((_, request) =>
        String(request) === port ? new Promise(() => undefined) : Promise.resolve(),
      )
      const { upstreams } = bench().server.gateway
      const { origins } = upstreams
      Object.assign(upstreams, { origins: silent })
      expect((await sendRequest(bench(), 'chat', { model: 'test/chat' })).status).toBe(408)
      expect((await readJson(sendRequest(bench(), 'chat', { model: 'test/both-chat' }))).provider).toBe(
        'two-chat',
      )
      Object.assign(upstreams, { origins })
    })
    test('502 when a provider refuses the connection', async () => {
      const { upstreams } = bench().server.gateway
      const { origins } = upstreams
      Object.assign(upstreams, {
        origins: new OriginReachability(() => Promise.reject(new Error('refused'))),
      })
      expect((await sendRequest(bench(), 'chat', { model: 'test/chat' })).status).toBe(502)
      Object.assign(upstreams, { origins })
    })
    test('408 when a stream does not begin', async () => {
      bench().first.enqueue({ hang: true, sse: [] })
      expect((await sendPassingTime(bench(), 'chat', { model: 'test/chat', stream: true })).status).toBe(408)
    })
    test('502 when a whole reply is too large', async () => {
      bench().first.enqueue({ json: { padding: 'x'.repeat(70_000) } })
      expect((await sendRequest(bench(), 'chat', { model: 'test/chat' })).status).toBe(502)
    })
  },
  'limits: { body_bytes: 65536, reply_bytes: 65536, whole_reply: 5, first_byte: 5, heartbeat: 50, connect: 0.1 }',
)
