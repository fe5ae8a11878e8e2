import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import './loopback-only.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { type ReceivedRequest, startUpstream, type Upstream } from '../support/upstream.ts'

const secret = 'sk-vendor-0123456789-secret'
const accepted = '{"id":"obj_1","object":"thing"}'

function settingsFor(url: string): object {
  const provider = (slug: string, dialect: string, path: string) => ({
    ...{ slug, name: slug, base_url: url + path, api_key: secret, dialects: [dialect] },
  })
  const model = (id: string, slug: string) => ({
    ...{ id, name: id, context_length: 8000, output_modalities: ['text'] },
    endpoints: [
      {
        ...{ provider: slug, upstream_model: `vendor-${slug}`, max_completion_tokens: 100 },
        pricing: { prompt: '0.000001', completion: '0.000002' },
      },
    ],
  })
  const rule = (slug: string, paths: string[], more: object = {}) => ({
    ...{ provider: slug, paths, workspaces: 'all', price: '0.001', ...more },
  })
  return {
    providers: [
      provider('openai', 'chat', '/v1'),
      provider('anthropic', 'messages', '/v1'),
      provider('google', 'gemini', '/v1beta'),
    ],
    models: [model('test/openai', 'openai')],
    passthrough: [
      rule('openai', ['/files/**', '/fine_tuning/**', '/vector_stores/**', '/echo/*']),
      rule('openai', ['/chat/completions', '/unpriced'], { price: undefined }),
      rule('openai', ['/elsewhere'], { workspaces: ['another'] }),
      rule('openai', ['/readable'], { methods: ['GET'] }),
      rule('openai', ['/scanned-too'], { unscanned: 'allow' }),
      rule('anthropic', ['/messages/batches/**']),
      rule('google', ['/cachedContents/**']),
    ],
  }
}

for (const kind of databaseKinds) {
  describe(`pass-through (${kind})`, () => {
    let upstream: Upstream
    let server: TestServer
    beforeAll(async () => {
      upstream = await startUpstream()
      server = await startTestServer(kind, { settings: JSON.stringify(settingsFor(upstream.url)) })
    })
    beforeEach(() => upstream.setDefault({ json: { id: 'obj_1', object: 'thing' } }))
    afterAll(async () => {
      await server.stop()
      await upstream.stop()
    })

    const last = (): ReceivedRequest => upstream.requests.at(-1)!
    const openai = (key = server.own.inferenceKey) =>
      new OpenAI({ baseURL: `${server.url}/passthrough/openai/v1`, apiKey: key, maxRetries: 0 })
    const send = (path: string, init: RequestInit = {}) =>
      fetch(`${server.url}/passthrough/${path}`, {
        ...init,
        headers: { authorization: `Bearer ${server.own.inferenceKey}`, ...init.headers },
      })
    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      send(path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      })
    const rows = async () => {
      await server.gateway.ledger.flush()
      return server.gateway.db
        .selectFrom('generations')
        .selectAll()
        .where('dialect', '=', 'passthrough')
        .orderBy('created_at')
        .orderBy('id')
        .execute()
    }
    const costOf = async (work: () => Promise<unknown>) => {
      const before = await rows()
      await work()
      return (await rows()).slice(before.length)
    }

    test('R11 I2 the OpenAI SDK uploads and lists files, each charged its declared price and recorded', async () => {
      const content = 'x'.repeat(300_000)
      upstream.enqueue({ json: { id: 'file-1', object: 'file' } }, { json: { object: 'list', data: [] } })
      const recorded = await costOf(async () => {
        const client = openai()
        const file = await toFile(Buffer.from(content), 'a.jsonl')
        expect((await client.files.create({ file, purpose: 'fine-tune' })).id).toBe('file-1')
        expect(last().text).toContain(content)
        expect(last()).toMatchObject({ method: 'POST', path: '/v1/files' })
        expect((await client.files.list({ limit: 2 })).data).toEqual([])
        expect(last()).toMatchObject({ method: 'GET', path: '/v1/files', query: 'limit=2' })
      })
      expect(recorded).toMatchObject([
        { requested_model: 'POST /files', provider: 'openai', status: 'completed', cost_nanos: 1_000_000n },
        { requested_model: 'GET /files', api_type: 'passthrough', cost_nanos: 1_000_000n },
      ])
    })

    test('the OpenAI SDK creates a fine-tuning job and a vector store, byte for byte', async () => {
      const client = openai()
      await client.fineTuning.jobs.create({ model: 'vendor-openai', training_file: 'file-1' })
      expect(last().path).toBe('/v1/fine_tuning/jobs')
      expect(last().text).toBe('{"model":"vendor-openai","training_file":"file-1"}')
      await client.vectorStores.create({ name: 'notes' })
      expect(last()).toMatchObject({ path: '/v1/vector_stores', json: { name: 'notes' } })
      expect(last().headers['openai-beta']).toBe('assistants=v2')
    })

    test('a streamed reply arrives unchanged, and is charged by its usage', async () => {
      const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
      const frames = [
        'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n',
        `data: {"choices":[],"usage":${JSON.stringify(usage)}}\n\n`,
        'data: [DONE]\n\n',
      ]
      upstream.enqueue({ sse: frames, headers: { 'content-type': 'text/event-stream' } })
      const body = { model: 'vendor-openai', stream: true, messages: [{ role: 'user', content: 'Hello' }] }
      const [row] = await costOf(async () => {
        const response = await post('openai/v1/chat/completions', body)
        expect(await response.text()).toBe(frames.join(''))
      })
      expect(row).toMatchObject({ model: 'test/openai', tokens_input: 10, tokens_output: 20, streamed: 1 })
      expect(row?.cost_nanos).toBe(50_000n)
    })

    test('a whole reply is charged by its usage', async () => {
      upstream.enqueue({ json: { choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } } })
      const [row] = await costOf(async () => {
        await (await post('openai/chat/completions', { model: 'vendor-openai', messages: [] })).text()
      })
      expect(row).toMatchObject({ tokens_input: 5, cost_nanos: 7_000n, usage_source: 'reported' })
    })

    test('the Anthropic SDK creates a batch of messages', async () => {
      upstream.enqueue({ json: { id: 'msgbatch_1', type: 'message_batch' } })
      const client = new Anthropic({
        ...{ baseURL: `${server.url}/passthrough/anthropic`, apiKey: server.own.inferenceKey, maxRetries: 0 },
      })
      const params = { model: 'm', max_tokens: 1, messages: [{ role: 'user' as const, content: 'Hi' }] }
      const batch = await client.messages.batches.create({ requests: [{ custom_id: 'a', params }] })
      expect(batch.id).toBe('msgbatch_1')
      expect(last().path).toBe('/v1/messages/batches')
      expect(last().headers['x-api-key']).toBe(secret)
      expect(last().headers['anthropic-version']).toBe('2026-10-21')
      expect(JSON.stringify(last().headers)).not.toContain(server.own.inferenceKey)
    })

    test('the Google SDK creates cached content', async () => {
      upstream.enqueue({ json: { name: 'cachedContents/1' } })
      const client = new GoogleGenAI({
        ...{ apiKey: server.own.inferenceKey, httpOptions: { baseUrl: `${server.url}/passthrough/google` } },
      })
      const config = { contents: [{ role: 'user', parts: [{ text: 'Long' }] }] }
      const cached = await client.caches.create({ model: 'gemini-2.5-pro', config })
      expect(cached.name).toBe('cachedContents/1')
      expect(last().path).toBe('/v1beta/cachedContents')
      expect(last().headers['x-goog-api-key']).toBe(secret)
    })

    test('without a rule it is 403 and nothing is sent', async () => {
      const sent = upstream.requests.length
      const refused = [
        await post('openai/v1/assistants', {}),
        await post('openai/elsewhere', {}),
        await post('openai/readable', {}),
        await send('openai/v1/files/a/b', { method: 'GET', headers: { authorization: 'Bearer wrong' } }),
        await post('sandbox/files', {}),
        await post('nobody/files', {}),
      ]
      expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 401, 404, 404])
      expect(((await refused[0]!.json()) as { error: { message: string } }).error.message).toContain(
        'POST /assistants at openai is not allowed',
      )
      expect(upstream.requests.length).toBe(sent)
    })

    test('S5 a hostile path reaches no other address', async () => {
      const { port } = new URL(server.url)
      const raw = (path: string) =>
        new Promise<number>((resolve, reject) => {
          const socket = connect(Number(port), '127.0.0.1', () =>
            socket.write(
              `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${server.own.inferenceKey}\r\nConnection: close\r\n\r\n`,
            ),
          )
          socket.once('data', (data) => resolve(Number(data.toString().split(' ')[1])))
          socket.once('error', reject)
        })
      const sent = upstream.requests.length
      for (const path of [
        ...[
          'files/../assistants',
          'files/%2e%2e/assistants',
          'files/%2E%2E%2Fassistants',
          'files/..%5cassistants',
        ],
        ...[
          'files//127.0.0.1:1/x',
          '/evil.test/files',
          'files/%252e%252e/assistants',
          'files/a%00b',
          'files/%',
        ],
        ...[
          'http://evil.test/files',
          '@evil.test/files',
          'files/a%0d%0ax',
          '%2F%2Fevil.test',
          'files/\\evil.test',
        ],
        ...['v1/../../files', 'files/.', 'FILES', 'filesystem'],
      ])
        expect([path, [400, 403, 404].includes(await raw(`/passthrough/openai/${path}`))]).toEqual([
          path,
          true,
        ])
      expect(upstream.requests.length).toBe(sent)
      expect(await raw('/passthrough/openai/files/a%2Db:c')).toBe(200)
      expect(last().path).toBe('/v1/files/a-b:c')
    })

    test('R40 credentials, cookies and own headers are not forwarded or returned', async () => {
      upstream.enqueue({
        headers: {
          ...{ 'set-cookie': 'a=b', 'openai-organization': 'org-1', 'x-echo': `Bearer ${secret}` },
          ...{ 'openai-version': '2020-10-01', authorization: secret },
        },
        json: { ok: true },
      })
      const response = await post(
        `openai/echo/1?key=${server.own.inferenceKey}&a=%20b&%6bey=2`,
        {},
        {
          ...{
            cookie: 'session=1',
            'x-headgate-tag': 'a',
            'openai-organization': 'org-2',
            'x-custom': 'kept',
          },
          ...{ 'x-forwarded-for': '10.0.0.1', 'idempotency-key': 'k1', 'if-match': '"e"' },
        },
      )
      expect(await response.json()).toEqual({ ok: true })
      expect(last().query).toBe('a=%20b')
      expect(last().headers).toMatchObject({ 'x-custom': 'kept', 'idempotency-key': 'k1', 'if-match': '"e"' })
      for (const name of ['cookie', 'x-headgate-tag', 'openai-organization', 'x-forwarded-for'])
        expect(last().headers).not.toHaveProperty(name)
      expect(last().headers.authorization).toBe(`Bearer ${secret}`)
      expect(JSON.stringify(last())).not.toContain(server.own.inferenceKey)
      for (const name of ['set-cookie', 'openai-organization', 'x-echo', 'authorization'])
        expect(response.headers.has(name)).toBe(false)
      expect(response.headers.get('openai-version')).toBe('2020-10-01')
      expect(response.headers.get('content-security-policy')).toContain('sandbox')
    })

    test('an error of the provider is returned without its credential, and is free', async () => {
      upstream.enqueue({ status: 422, json: { error: { message: `Key ${secret} cannot`, code: 'x' } } })
      const [row] = await costOf(async () => {
        const response = await send('openai/files/f1', { method: 'DELETE' })
        expect(response.status).toBe(422)
        expect(await response.json()).toEqual({ error: { message: 'Key *** cannot', code: 'x' } })
      })
      expect(row).toMatchObject({ status: 'failed', error_code: 'upstream_rejected', cost_nanos: 0n })
      expect(last()).toMatchObject({ method: 'DELETE', path: '/v1/files/f1' })
    })

    test('a reply without a body is charged too', async () => {
      upstream.enqueue({ status: 204 })
      const [row] = await costOf(async () => {
        expect((await send('openai/files/f1', { method: 'DELETE' })).status).toBe(204)
      })
      expect(row).toMatchObject({ status: 'completed', cost_nanos: 1_000_000n })
    })

    test('R8 an unknown price is refused for a key with a limit', async () => {
      const { body } = await server.call('POST', '/keys', { body: { name: 'limited', limit: 1 } })
      const sent = upstream.requests.length
      const headers = { authorization: `Bearer ${body.key}` }
      const refused = await post('openai/unpriced', { model: 'unknown' }, headers)
      expect([
        refused.status,
        ((await refused.json()) as { error: { metadata: { reason: string } } }).error.metadata.reason,
      ]).toEqual([402, 'price_unknown'])
      expect(upstream.requests.length).toBe(sent)
      const priced = await post('openai/files', {}, headers)
      expect([priced.status, await priced.text()]).toEqual([200, accepted])
    })

    test('R3 the worst case is held before anything is sent', async () => {
      const { body } = await server.call('POST', '/keys', { body: { name: 'poor', limit: 0.0005 } })
      const sent = upstream.requests.length
      const refused = await post('openai/files', {}, { authorization: `Bearer ${body.key}` })
      expect(refused.status).toBe(402)
      expect(upstream.requests.length).toBe(sent)
    })

    test('R35 is refused where content filters are enforced, unless the rule allows it', async () => {
      const { body } = await server.call('POST', '/keys', { body: { name: 'filtered' } })
      const guardrail = await server.call('POST', '/guardrails', {
        body: { name: 'words', content_filters: [{ pattern: 'secret', action: 'block', label: '[X]' }] },
      })
      await server.call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, {
        body: { key_hashes: [body.data.hash] },
      })
      const headers = { authorization: `Bearer ${body.key}` }
      expect((await post('openai/files', {}, headers)).status).toBe(403)
      const allowed = await post('openai/scanned-too', {}, headers)
      expect([allowed.status, await allowed.text()]).toEqual([200, accepted])
    })

    test('a client that leaves is charged for the accepted operation', async () => {
      const gate = Promise.withResolvers<void>()
      upstream.enqueue({ sse: ['data: 1\n\n'], hang: true, headers: { 'content-type': 'text/event-stream' } })
      const [row] = await costOf(async () => {
        const controller = new AbortController()
        const response = await send('openai/files/f1/content', { signal: controller.signal })
        await response.body?.getReader().read()
        const settled = server.gateway.ledger.settle.bind(server.gateway.ledger)
        server.gateway.ledger.settle = async (settlement) => {
          await settled(settlement)
          gate.resolve()
        }
        controller.abort()
        await gate.promise
        server.gateway.ledger.settle = settled
      })
      expect(row).toMatchObject({ status: 'cancelled', cost_nanos: 1_000_000n })
      await last().done
    })

    test('I1 I2 I6 the ledger is sound after all of them', async () => {
      await server.gateway.ledger.flush()
      const { sound, figures } = await checkLedger(server.gateway.db)
      expect(sound).toBe(true)
      expect(figures).toMatchObject({ holds: 0, held_nanos: 0n })
    })
  })
}
