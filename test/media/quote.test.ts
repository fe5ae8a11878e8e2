import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../support/harness.ts'

describeOnEachDatabase('POST /quote for tasks other than text', (server) => {
  const quote = async (format: string, body: Record<string, unknown>, headers = {}) => {
    const key = server().own.inferenceKey
    return server().call('POST', `/quote${format && `?format=${format}`}`, { key, body, headers })
  }

  test('embeddings cost what they would be charged', async () => {
    const body = { model: 'sandbox/embedder', input: ['12345678', '1234'] }
    const { data } = (await quote('embeddings', body)).body
    expect(data).toMatchObject({ would: 'be_sent', requested: 'sandbox/embedder' })
    expect(data.price).toMatchObject({
      expected: 0.00000006,
      assumed: { prompt_tokens: 3, completion_tokens: 0 },
    })
    const key = server().own.inferenceKey
    const sent = await server().call('POST', '/embeddings', { key, body })
    expect(sent.body.usage.cost).toBe(data.price.expected)
    expect(data.price.worst_case).toBeGreaterThan(data.price.expected)
  })

  test('tokens are counted', async () => {
    const { data } = (await quote('embeddings', { model: 'sandbox/embedder', input: [[1, 2], [3]] })).body
    expect(data.price.assumed.prompt_tokens).toBe(3)
  })

  test('reranking is recognised by its fields, and costs a price per search', async () => {
    const body = { model: 'sandbox/reranker', query: 'a', documents: Array(150).fill('b') }
    const { data } = (await quote('', body)).body
    expect(data.price).toMatchObject({ worst_case: 0.004, expected: 0.004 })
  })

  test('a request that would be rejected says why', async () => {
    const wrong = await quote('embeddings', { model: 'sandbox/echo', input: 'a' })
    expect(wrong.status).toBe(400)
    expect((await quote('embeddings', { model: 'sandbox/embedder' })).body.error.message).toStartWith(
      'input:',
    )
    const strict = { 'x-headgate-strict': 'true' }
    const body = { model: 'sandbox/embedder', input: 'a', trace: { trace_id: 't' } }
    const { data } = (await quote('embeddings', body, strict)).body
    expect(data).toMatchObject({ would: 'be_refused' })
    expect(data.refusal.error.message).toContain('trace')
  })
})
