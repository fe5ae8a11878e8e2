import { beforeEach, expect, test } from 'bun:test'
import { clearGenerations, lastRequest, listGenerations } from '../inference/two-upstreams.ts'
import { describeOnSqlite, resetRouting, type TestServer } from '../support/harness.ts'
import { createGuardedKey, createLimitedKey, describeMedia, post, vendorSecret } from './support.ts'

const documents = ['Berlin is in Germany', 'Paris is the capital of France', { text: 'The capital letter' }]

function rerank(
  server: TestServer,
  body: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) {
  return server.call('POST', '/rerank', {
    key: server.own.inferenceKey,
    body: { model: 'sandbox/reranker', query: 'capital of France', documents, ...body },
    headers,
  })
}

describeOnSqlite('POST /rerank on the sandbox', (server) => {
  test('sorts documents by relevance and repeats them', async () => {
    const { status, body } = await rerank(server())
    expect(status).toBe(200)
    expect(body.provider).toBe('Sandbox (simulated)')
    expect(body.results.map(({ index }: { index: number }) => index)).toEqual([1, 2, 0])
    expect(body.results[0].document).toEqual({ text: 'Paris is the capital of France' })
    expect(body.results[0].relevance_score).toBeGreaterThan(body.results[1].relevance_score)
    expect((await rerank(server(), { top_n: 1 })).body.results).toHaveLength(1)
  })

  test('R9 is charged by the search, and recorded', async () => {
    const { body } = await rerank(server())
    expect(body.usage).toMatchObject({ search_units: 1, cost: 0.002, total_tokens: 31 })
    const many = await rerank(server(), { documents: Array(201).fill('a') })
    expect(many.body.usage).toMatchObject({ search_units: 3, cost: 0.006 })
    const key = server().own.inferenceKey
    const { data } = (await server().call('GET', `/generation?id=${body.id}`, { key })).body
    expect(data).toMatchObject({ api_type: 'rerank', model: 'sandbox/reranker', total_cost: 0.002 })
    const analytics = await server().call('POST', '/analytics/query', {
      body: { metrics: ['request_count'], dimensions: ['model'] },
    })
    expect(JSON.stringify(analytics.body)).toContain('sandbox/reranker')
  })

  test('images are documents too', async () => {
    const image = 'data:image/png;base64,iVBORw0KGgo='
    const { body } = await rerank(server(), { documents: [{ image }, { text: 'France', image }] })
    expect(body.results.map(({ document }: { document: object }) => document)).toEqual([
      { text: 'France', image },
      { image },
    ])
  })

  test('an identical request is served from the cache, for nothing', async () => {
    const cached = { 'x-service-cache': 'true' }
    const first = await rerank(server(), { query: 'cache' }, cached)
    const second = await rerank(server(), { query: 'cache' }, cached)
    expect(second.headers.get('x-service-cache-status')).toBe('HIT')
    expect(second.body.results).toEqual(first.body.results)
    expect(second.body.usage).toMatchObject({ cost: 0, search_units: 0, total_tokens: 0 })
  })

  test('bad input is 400 and names the field; directives make it fail', async () => {
    for (const [body, field] of [
      [{ documents: [] }, 'documents'],
      [{ documents: [{}] }, 'documents.0'],
      [{ documents: [1] }, 'documents.0'],
      [{ query: '' }, 'query'],
      [{ top_n: 0 }, 'top_n'],
      [{ model: 'sandbox/embedder' }, 'model'],
    ] as const) {
      const response = await rerank(server(), body)
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
    }
    expect((await rerank(server(), { query: 'sandbox:error=503 a' })).status).toBe(503)
    expect((await rerank(server(), { query: 'sandbox:empty a' })).status).toBe(502)
  })
})

const fields = { output_modalities: ['rerank'] }
const models = [
  {
    name: 'searches',
    wireFormat: 'rerank',
    fields,
    endpoint: { prompt_unit: 'search', pricing: { prompt: '0.002', completion: '0' } },
    other: { pricing: { prompt: '0.004', completion: '0' } },
  },
  {
    name: 'tokens',
    wireFormat: 'voyage-rerank',
    fields,
    endpoint: { pricing: { prompt: '0.00000005', completion: '0' } },
    other: {},
  },
]

const results = [
  { index: 1, relevance_score: 0.25 },
  { index: 0, relevance_score: 0.75 },
]
const cohereReply = { id: 'x', results, meta: { billed_units: { search_units: 1 } } }

describeMedia('POST /rerank at upstreams', models, (bench) => {
  beforeEach(() => clearGenerations(bench()))

  const send = (body: Record<string, unknown> = {}, options = {}) =>
    post(bench(), '/rerank', { model: 'test/searches', query: 'q', documents: ['a', 'b'], ...body }, options)

  test('R9 searches are charged as the provider counts them', async () => {
    bench().first.enqueue({ json: cohereReply })
    const { status, body } = await send()
    expect(status).toBe(200)
    expect(body.results).toEqual([
      { index: 0, relevance_score: 0.75, document: { text: 'a' } },
      { index: 1, relevance_score: 0.25, document: { text: 'b' } },
    ])
    expect(body.usage).toMatchObject({ search_units: 1, cost: 0.002 })
    expect(lastRequest(bench().first.requests)).toMatchObject({
      path: '/rerank',
      json: { model: 'vendor-model', query: 'q', documents: ['a', 'b'] },
    })
    const [row] = await listGenerations(bench())
    expect(BigInt(row?.cost_nanos ?? 0)).toBe(2_000_000n)
  })

  test('R9 tokens are charged where the price is by token', async () => {
    const json = { object: 'list', data: results, usage: { total_tokens: 26 } }
    bench().first.enqueue({ json })
    const { body } = await send({ model: 'test/tokens', top_n: 2 })
    expect(body.usage).toMatchObject({ total_tokens: 26, cost: 0.0000013 })
    expect(lastRequest(bench().first.requests).json.top_k).toBe(2)
  })

  test('a reply without every document is a failure of the provider: failover, no charge', async () => {
    for (const json of [{ results: [] }, { results: results.slice(1) }, { message: 'ok' }]) {
      resetRouting(bench().server)
      bench().first.enqueue({ json })
      bench().second.enqueue({ json: cohereReply })
      const { status, body } = await send({ model: 'test/both-searches' })
      expect(status).toBe(200)
      expect(body.usage.cost).toBe(0.004)
    }
  })

  test('errors of the provider are mapped, and do not contain its key', async () => {
    bench().first.enqueue({ status: 400, json: { message: `invalid ${vendorSecret}` } })
    const { status, text } = await send()
    expect(status).toBe(400)
    expect(text).not.toContain(vendorSecret)
  })

  test('images are refused by models without them, before anything is sent', async () => {
    const { status, body } = await send({ documents: ['a', { image: 'https://example.com/a.png' }] })
    expect(status).toBe(400)
    expect(body.error.message).toStartWith('documents.1:')
    expect(bench().first.requests).toHaveLength(0)
  })

  test('R3 limits and guardrails are checked before anything is sent', async () => {
    const limited = await createLimitedKey(bench(), 0.001)
    expect((await send({}, { key: limited })).status).toBe(402)
    const guarded = await createGuardedKey(bench(), { allowed_models: ['sandbox/echo'] })
    expect((await send({}, { key: guarded })).status).toBe(403)
    expect(bench().first.requests).toHaveLength(0)
  })
})
