import { beforeEach, expect, test } from 'bun:test'
import {
  clearGenerations,
  lastRequest,
  listGenerations,
  waitForGenerations,
} from '../inference/two-upstreams.ts'
import { resetRouting } from '../support/harness.ts'
import { createGuardedKey, createLimitedKey, describeMedia, post, vendorSecret } from './support.ts'

const fields = { output_modalities: ['embeddings'], context_length: 8192 }
const endpoint = { pricing: { prompt: '0.000125', completion: '0' } }
const other = { pricing: { prompt: '0.00025', completion: '0' } }

const models = ['embeddings', 'gemini-embeddings', 'cohere-embeddings', 'voyage-embeddings'].map(
  (wireFormat) => ({ name: wireFormat, wireFormat, fields, endpoint, other }),
)

const floats = [0.25, -0.5, 1]
const base64 = 'AACAPgAAAL8AAIA/'
const data = (embedding: unknown, index = 0) => ({ object: 'embedding', index, embedding })
const usage = { prompt_tokens: 8, total_tokens: 8 }
const openaiReply = (embedding: unknown = floats) => ({ object: 'list', data: [data(embedding)], usage })

describeMedia('POST /embeddings at upstreams', models, (bench) => {
  beforeEach(() => clearGenerations(bench()))

  const embed = (body: Record<string, unknown>, options = {}) =>
    post(bench(), '/embeddings', { model: 'test/embeddings', input: 'Hello', ...body }, options)

  test('R9 sends the request with our key, and charges for exactly what was counted', async () => {
    bench().first.enqueue({ json: openaiReply() })
    const { status, body } = await embed({ user: 'u', dimensions: 3 })
    expect(status).toBe(200)
    expect(body.data).toEqual([data(floats)])
    expect(body.usage).toMatchObject({ prompt_tokens: 8, total_tokens: 8, cost: 0.001 })
    const request = lastRequest(bench().first.requests)
    expect(request.path).toBe('/embeddings')
    expect(request.headers.authorization).toBe(`Bearer ${vendorSecret}`)
    expect(request.json).toEqual({
      model: 'vendor-model',
      input: 'Hello',
      dimensions: 3,
      encoding_format: 'float',
      user: 'u',
    })
    const [row] = await listGenerations(bench())
    expect(row).toMatchObject({
      api_type: 'embeddings',
      dialect: 'embeddings',
      upstream_dialect: 'embeddings',
      status: 'completed',
      finish_reason: 'stop',
      model: 'test/embeddings',
      provider: 'one-embeddings',
    })
    expect(BigInt(row?.cost_nanos ?? 0)).toBe(1_000_000n)
  })

  test('either encoding of the upstream becomes the one the client requested', async () => {
    for (const sent of [floats, base64]) {
      bench().first.enqueue({ json: openaiReply(sent) }, { json: openaiReply(sent) })
      expect((await embed({})).body.data[0].embedding).toEqual(floats)
      expect((await embed({ encoding_format: 'base64' })).body.data[0].embedding).toBe(base64)
      expect(lastRequest(bench().first.requests).json.encoding_format).toBe('base64')
    }
  })

  test('the digits of the upstream are not changed', async () => {
    const text = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.10, 1e-7,-3.0]}],"usage":${JSON.stringify(usage)}}`
    bench().first.enqueue({ text, headers: { 'content-type': 'application/json' } })
    expect((await embed({})).text).toContain('"embedding":[0.10, 1e-7,-3.0]')
  })

  test('every format of upstreams works, with exact charges', async () => {
    const replies: [string, object, string][] = [
      [
        'gemini-embeddings',
        { embeddings: [{ values: floats }], usageMetadata: { promptTokenCount: 8 } },
        '/models/vendor-model:batchEmbedContents',
      ],
      [
        'cohere-embeddings',
        { embeddings: { float: [floats] }, meta: { billed_units: { input_tokens: 8 } } },
        '/embed',
      ],
      ['voyage-embeddings', { data: [data(floats)], usage: { total_tokens: 8 } }, '/embeddings'],
    ]
    for (const [wireFormat, json, path] of replies) {
      bench().first.enqueue({ json })
      const { status, body } = await embed({ model: `test/${wireFormat}`, encoding_format: 'base64' })
      expect(status).toBe(200)
      expect(body.data[0].embedding).toBe(base64)
      expect(body.usage).toMatchObject({ prompt_tokens: 8, cost: 0.001 })
      expect(lastRequest(bench().first.requests).path).toBe(path)
    }
  })

  test('a reply that is not as many vectors as inputs is a failure of the provider: failover, no charge', async () => {
    const broken = [
      { json: openaiReply() },
      { json: { data: [] } },
      { json: { data: [data(floats), data(null, 1)] } },
      { json: { data: [data(floats), data('!', 1)] } },
      { text: '<html>' },
      { json: { object: 'list' } },
      { status: 500, json: { error: { message: 'boom' } } },
    ]
    for (const response of broken) {
      resetRouting(bench().server)
      bench().first.enqueue(response)
      bench().second.enqueue({ json: { data: [data(floats, 1), data([1, 2, 3], 0)], usage } })
      const { status, body } = await embed({ model: 'test/both-embeddings', input: ['a', 'b'] })
      expect(status).toBe(200)
      expect(body.data).toEqual([data([1, 2, 3], 0), data(floats, 1)])
      expect(body.usage.cost).toBe(0.002)
    }
    resetRouting(bench().server)
    bench().first.enqueue({ json: { data: [] } })
    const alone = await embed({})
    expect(alone.status).toBe(502)
    const rows = await listGenerations(bench())
    expect(rows.at(-1)).toMatchObject({ status: 'failed' })
    expect(BigInt(rows.at(-1)?.cost_nanos ?? 1)).toBe(0n)
  })

  test('errors of the provider are mapped, and do not contain its key', async () => {
    const cases: [number, object, number][] = [
      [400, { error: { message: `bad ${vendorSecret}`, type: 'invalid_request_error' } }, 400],
      [401, { error: { message: `Incorrect API key ${vendorSecret}` } }, 502],
      [429, { error: { message: 'slow down' } }, 429],
    ]
    for (const [status, json, expected] of cases) {
      bench().first.enqueue({ status, json })
      const response = await embed({})
      expect(response.status).toBe(expected)
      expect(response.text).not.toContain(vendorSecret)
      resetRouting(bench().server)
    }
  })

  test('tokens and images are refused where they cannot be sent, before anything is', async () => {
    const image = { content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] }
    for (const [model, input] of [
      ['test/cohere-embeddings', [1, 2]],
      ['test/gemini-embeddings', [[1, 2]]],
      ['test/embeddings', [image]],
    ] as const) {
      const { status, body } = await embed({ model, input })
      expect(status).toBe(400)
      expect(body.error.message).toStartWith(`input: must consist of what ${model} accepts: texts`)
    }
    expect(bench().first.requests).toHaveLength(0)
  })

  test('R3 a key whose limit the worst case exceeds is 402, and nothing is sent', async () => {
    const key = await createLimitedKey(bench(), 0.001)
    const { status } = await embed({ input: Array(100).fill('x'.repeat(1000)) }, { key })
    expect(status).toBe(402)
    expect(bench().first.requests).toHaveLength(0)
  })

  test('a model that a guardrail does not allow is 403', async () => {
    const key = await createGuardedKey(bench(), { allowed_models: ['sandbox/echo'] })
    expect((await embed({}, { key })).status).toBe(403)
    expect(bench().first.requests).toHaveLength(0)
  })

  test('R15 a BYOK key pays the provider, and a fee of 5 % is charged', async () => {
    const { server, first } = bench()
    const made = await server.call('POST', '/byok', {
      body: { provider: 'one-embeddings', key: 'byok-secret-0123456789' },
    })
    expect(made.status).toBe(201)
    first.enqueue({ json: openaiReply() })
    const { body } = await embed({})
    expect(body.usage).toMatchObject({ cost: 0.00005, is_byok: true })
    expect(body.usage.cost_details.upstream_inference_cost).toBe(0.001)
    expect(lastRequest(first.requests).headers.authorization).toBe('Bearer byok-secret-0123456789')
    await server.call('DELETE', `/byok/${made.body.data.id}`)
  })

  test('many inputs may exceed the context of one', async () => {
    const input = Array(50).fill('x'.repeat(4000))
    bench().first.enqueue({
      json: { data: input.map((_, index) => data(floats, index)), usage: { prompt_tokens: 50_000 } },
    })
    const { status, body } = await embed({ input })
    expect(status).toBe(200)
    expect(body.usage.cost).toBe(6.25)
  })

  test('a client that disconnects ends the request to the provider', async () => {
    bench().first.enqueue({ json: openaiReply(), waitMs: 10_000 })
    const controller = new AbortController()
    const sending = embed({}, { signal: controller.signal }).catch(() => 'aborted')
    const [request] = await bench().first.waitForRequests(1)
    controller.abort()
    expect(await sending).toBe('aborted')
    expect((await request?.done)?.complete).toBe(false)
    const [row] = await waitForGenerations(bench(), 1)
    expect(row).toMatchObject({ status: 'cancelled' })
  })

  test('fields outside the format reach an upstream of the same format, and are reported by others', async () => {
    bench().first.enqueue({ json: openaiReply() }, { json: { data: [data(floats)] } })
    await embed({ truncate_prompt_tokens: 5 })
    expect(lastRequest(bench().first.requests).json.truncate_prompt_tokens).toBe(5)
    const { headers } = await embed({ model: 'test/voyage-embeddings', truncate_prompt_tokens: 5, user: 'u' })
    expect(headers.get('x-headgate-dropped')).toBe('truncate_prompt_tokens, user')
    const strict = await embed(
      { model: 'test/voyage-embeddings', user: 'u' },
      { headers: { 'x-headgate-strict': 'true' } },
    )
    expect(strict.status).toBe(400)
  })

  test('a reply of many vectors arrives whole', async () => {
    const vector = Array.from({ length: 1024 }, (_, index) => index / 7)
    const input = Array(300).fill('a')
    bench().first.enqueue({ json: { data: input.map((_, index) => data(vector, index)), usage } })
    const { body, text } = await embed({ input })
    expect(text.length).toBeGreaterThan(2 * 1024 * 1024)
    expect(body.data).toHaveLength(300)
    expect(body.data[299]).toEqual(data(vector, 299))
  })
})
