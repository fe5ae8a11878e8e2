import { expect, test } from 'bun:test'
import { describeOnEachDatabase, type TestServer } from '../support/harness.ts'

function embed(server: TestServer, body: Record<string, unknown>, headers: Record<string, string> = {}) {
  return server.call('POST', '/embeddings', {
    key: server.own.inferenceKey,
    body: { model: 'sandbox/embedder', ...body },
    headers,
  })
}

function cosine(a: number[], b: number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

describeOnEachDatabase('POST /embeddings on the sandbox', (server) => {
  test('embeds texts: similar ones are closer', async () => {
    const input = ['The cat sat on the mat', 'A cat sits on a mat', 'Quarterly revenue grew']
    const { status, body } = await embed(server(), { input })
    expect(status).toBe(200)
    expect(body).toMatchObject({ object: 'list', model: 'sandbox/embedder' })
    expect(body.data.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2])
    const [first, second, third] = body.data.map(({ embedding }: { embedding: number[] }) => embedding)
    expect(first).toHaveLength(1536)
    expect(cosine(first, second)).toBeGreaterThan(cosine(first, third))
  })

  test('R9 usage and cost are exact, and recorded', async () => {
    // 8 characters are 2 tokens of $0.00000002.
    const { body, headers } = await embed(server(), { input: '12345678' })
    expect(body.usage).toEqual({
      prompt_tokens: 2,
      total_tokens: 2,
      cost: 0.00000004,
      is_byok: false,
      cost_details: {
        upstream_inference_cost: 0.00000004,
        upstream_inference_prompt_cost: 0.00000004,
        upstream_inference_completions_cost: 0,
      },
    })
    expect(body.id).toBe(headers.get('x-generation-id'))
    const key = server().own.inferenceKey
    const generation = (await server().call('GET', `/generation?id=${body.id}`, { key })).body.data
    expect(generation).toMatchObject({
      api_type: 'embeddings',
      model: 'sandbox/embedder',
      tokens_prompt: 2,
      tokens_completion: 0,
      total_cost: 0.00000004,
      streamed: false,
    })
  })

  test('base64 has exactly the numbers of float', async () => {
    const float = (await embed(server(), { input: 'Hello', dimensions: 5 })).body.data[0].embedding
    const base64 = (await embed(server(), { input: 'Hello', dimensions: 5, encoding_format: 'base64' })).body
      .data[0].embedding
    expect(float).toHaveLength(5)
    expect([...new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer)]).toEqual(float)
  })

  test('tokens and parts are inputs too', async () => {
    const tokens = await embed(server(), { input: [1, 2, 3] })
    expect(tokens.body.data).toHaveLength(1)
    expect(tokens.body.usage.prompt_tokens).toBe(3)
    const lists = await embed(server(), { input: [[1, 2], [3]] })
    expect(lists.body.data).toHaveLength(2)
    const media = { data: 'AAAA', format: 'mp4' }
    const parts = [
      { type: 'text', text: 'Four' },
      image,
      { type: 'input_video', input_video: media },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { type: 'input_file', input_file: { data: 'AAAA', format: 'pdf' } },
    ]
    const mixed = await embed(server(), { input: [{ content: parts }, { content: [image] }] })
    expect(mixed.status).toBe(200)
    expect(mixed.body.data).toHaveLength(2)
    expect(mixed.body.usage.prompt_tokens_details).toEqual({
      text_tokens: 2,
      image_tokens: 512,
      audio_tokens: 1,
      video_tokens: 1024,
    })
  })

  test('bad input is 400 and names the field', async () => {
    for (const [body, field] of [
      [{ input: '' }, 'input'],
      [{ input: [] }, 'input'],
      [{ input: ['a', ''] }, 'input'],
      [{ input: [1, 'a'] }, 'input'],
      [{ input: [[]] }, 'input'],
      [{ input: Array(2049).fill('a') }, 'input'],
      [{ input: [{ content: [{ type: 'poem' }] }] }, 'input'],
      [{ input: 'a', dimensions: 0 }, 'dimensions'],
      [{ input: 'a', dimensions: 5000 }, 'dimensions'],
      [{ input: 'a', encoding_format: 'hex' }, 'encoding_format'],
      [{}, 'input'],
    ] as const) {
      const response = await embed(server(), body)
      expect(response.status).toBe(400)
      expect(response.body.error.message).toContain(field)
    }
  })

  test('a model for another task and an unknown one are 400', async () => {
    const wrong = await embed(server(), { model: 'sandbox/echo', input: 'a' })
    expect(wrong.status).toBe(400)
    expect(wrong.body.error.message).toContain('not embeddings')
    expect((await embed(server(), { model: 'sandbox/none', input: 'a' })).status).toBe(400)
  })

  test('directives make it slow or fail', async () => {
    const failed = await embed(server(), { input: 'sandbox:error=503 Hello' })
    expect(failed.status).toBe(503)
    expect((await embed(server(), { input: 'sandbox:empty Hello' })).status).toBe(502)
    expect((await embed(server(), { input: 'sandbox:quiet=5 Hello' })).status).toBe(200)
    const uncounted = await embed(server(), { input: 'sandbox:no-usage 12345678' })
    expect(uncounted.body.usage.prompt_tokens).toBe(7)
  })

  test('service metadata explains the routing', async () => {
    const { body } = await embed(server(), { input: 'a' }, { 'x-service-metadata': 'enabled' })
    expect(body.service_metadata.requested).toBe('sandbox/embedder')
  })

  test('fields that are not implemented are reported', async () => {
    const { headers } = await embed(server(), { input: 'a', debug: { echo_upstream_body: true } })
    expect(headers.get('x-headgate-dropped')).toBe('debug')
  })

  test('an identical request is served from the cache, for nothing', async () => {
    const cached = { 'x-service-cache': 'true' }
    const first = await embed(server(), { input: 'cache me' }, cached)
    expect(first.headers.get('x-service-cache-status')).toBe('MISS')
    const second = await embed(server(), { input: 'cache me' }, cached)
    expect(second.headers.get('x-service-cache-status')).toBe('HIT')
    expect(second.headers.get('x-service-cache-source-id')).toBe(first.body.id)
    expect(second.body.data).toEqual(first.body.data)
    expect(second.body.id).not.toBe(first.body.id)
    expect(second.body.usage).toMatchObject({ prompt_tokens: 0, total_tokens: 0, cost: 0 })
    const other = await embed(server(), { input: 'cache me', dimensions: 8 }, cached)
    expect(other.headers.get('x-service-cache-status')).toBe('MISS')
    const key = server().own.inferenceKey
    const { data } = (await server().call('GET', `/generation?id=${second.body.id}`, { key })).body
    expect(data).toMatchObject({
      total_cost: 0,
      response_cache_source_id: first.body.id,
      api_type: 'embeddings',
    })
  })
})
