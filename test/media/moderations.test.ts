import { beforeEach, expect, test } from 'bun:test'
import { clearGenerations, lastRequest, listGenerations } from '../inference/two-upstreams.ts'
import { describeOnSqlite } from '../support/harness.ts'
import { describeMedia, post } from './support.ts'

describeOnSqlite('POST /moderations on the sandbox', (server) => {
  const moderate = (body: Record<string, unknown>) =>
    server().call('POST', '/moderations', { key: server().own.inferenceKey, body })

  test('R9 classifies each text, and charges for its tokens', async () => {
    const model = 'sandbox/moderator'
    const { status, body } = await moderate({ model, input: ['Hello', 'hate and violence'] })
    expect(status).toBe(200)
    expect(body.results.map(({ flagged }: { flagged: boolean }) => flagged)).toEqual([false, true])
    expect(body.results[1].categories).toMatchObject({ hate: true, violence: true, sexual: false })
    const parts = [
      { type: 'text', text: 'violence' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ]
    expect((await moderate({ model, input: parts })).body.results).toHaveLength(1)
    const key = server().own.inferenceKey
    const { data } = (await server().call('GET', `/generation?id=${body.id}`, { key })).body
    expect(data).toMatchObject({ model, total_cost: 0.0000006 })
    expect((await moderate({ model, input: 'sandbox:error=503 a' })).status).toBe(503)
    expect((await moderate({ model, input: [] })).body.error.message).toStartWith('input')
  })

  test('without a model of a provider it says what to configure', async () => {
    const { status, body } = await moderate({ input: 'Hello' })
    expect(status).toBe(404)
    expect(body.error.message).toContain('dialects: [moderations]')
  })

  test('a moderation model is in the list of all models, but not of those for text', async () => {
    const list = async (path: string): Promise<string> => {
      const { status, body } = await server().call('GET', path, { key: server().own.inferenceKey })
      expect(status).toBe(200)
      return JSON.stringify(body)
    }
    expect(await list('/models?output_modalities=all')).toContain('sandbox/moderator')
    for (const path of ['/models', '/models/user', '/models?output_modalities=text,image'])
      expect(await list(path)).not.toContain('sandbox/moderator')
    const ollama = await fetch(`${server().url}/api/tags`, {
      headers: { authorization: `Bearer ${server().own.inferenceKey}` },
    })
    expect(await ollama.text()).not.toContain('sandbox/moderator')
  })

  test('a moderation model does not chat', async () => {
    const messages = [{ role: 'user', content: 'Hello' }]
    const body = { model: 'sandbox/moderator', messages }
    const key = server().own.inferenceKey
    expect((await server().call('POST', '/chat/completions', { key, body })).status).toBe(503)
  })
})

const endpoint = { pricing: { prompt: '0', completion: '0', request: '0.001' } }
const models = [{ name: 'moderator', wireFormat: 'moderations', fields: {}, endpoint, other: {} }]

describeMedia('POST /moderations at upstreams', models, (bench) => {
  beforeEach(() => clearGenerations(bench()))
  const result = { flagged: true, categories: { hate: true }, category_scores: { hate: 0.9 } }

  test('R9 the first declared model is the default, and is charged as priced', async () => {
    bench().first.enqueue({ json: { id: 'modr-1', model: 'x', results: [result] } })
    const { status, body } = await post(bench(), '/moderations', { input: 'Hello' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ results: [result] })
    expect(lastRequest(bench().first.requests)).toMatchObject({
      path: '/moderations',
      json: { model: 'vendor-model', input: 'Hello' },
    })
    const [row] = await listGenerations(bench())
    expect(BigInt(row?.cost_nanos ?? 0)).toBe(1_000_000n)
  })

  test('a reply without a result for each text is a failure of the provider: failover', async () => {
    bench().first.enqueue({ json: { results: [result] } })
    bench().second.enqueue({ json: { results: [result, result] } })
    const body = { model: 'test/both-moderator', input: ['a', 'b'] }
    const reply = await post(bench(), '/moderations', body)
    expect(reply.status).toBe(200)
    expect(reply.body.results).toHaveLength(2)
  })
})
