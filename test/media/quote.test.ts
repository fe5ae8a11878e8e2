import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../support/harness.ts'
import { inputAudio, silentWav } from '../support/recordings.ts'

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

  test('reranking is recognized by its fields, and costs a price per search', async () => {
    const body = { model: 'sandbox/reranker', query: 'a', documents: Array(150).fill('b') }
    const { data } = (await quote('', body)).body
    expect(data.price).toMatchObject({ worst_case: 0.004, expected: 0.004 })
  })

  test('images cost what they would be charged for', async () => {
    const body = { model: 'sandbox/painter', prompt: 'A red kite', n: 2, resolution: '2K' }
    const { data } = (await quote('images', body)).body
    expect(data).toMatchObject({ would: 'be_sent', requested: 'sandbox/painter' })
    // Two pictures of 2K, and three tokens of text.
    expect(data.price.expected).toBe(0.080003)
    expect(data.price.worst_case).toBeGreaterThanOrEqual(data.price.expected)
    const unsupported = (await quote('images', { ...body, n: 10, resolution: '4K' })).body.data
    expect(unsupported).toMatchObject({ would: 'be_refused', refusal: { error: { code: 400 } } })
  })

  test('speech is recognized by its voice, and costs a price per character', async () => {
    const body = { model: 'sandbox/speaker', input: 'Hello', response_format: 'wav' }
    const price = { worst_case: 0.000075, expected: 0.000075 }
    for (const { data } of [
      (await quote('speech', body)).body,
      (await quote('', { ...body, voice: 'low' })).body,
    ]) {
      expect(data).toMatchObject({ would: 'be_sent', price })
    }
    const refused = (await quote('speech', { ...body, voice: 'nobody' })).body.data
    expect(refused.refusal.error.message).toStartWith('voice')
  })

  test('a transcription is recognized by its recording, and costs a price per second', async () => {
    const body = { model: 'sandbox/listener', input_audio: inputAudio(silentWav(2)) }
    const { data } = (await quote('', body)).body
    // Providers may round up to whole seconds.
    expect(data).toMatchObject({ would: 'be_sent', price: { worst_case: 0.0003, expected: 0.0003 } })
    const broken = { ...body, input_audio: { data: 'AAAA', format: 'wav' } }
    expect((await quote('', broken)).body.error.message).toStartWith('input_audio.data')
  })

  test('a request that would be rejected says why', async () => {
    const wrong = await quote('embeddings', { model: 'sandbox/echo', input: 'a' })
    expect(wrong.status).toBe(400)
    expect((await quote('embeddings', { model: 'sandbox/embedder' })).body.error.message).toStartWith(
      'input:',
    )
    const strict = { 'x-headgate-strict': 'true' }
    const body = { model: 'sandbox/embedder', input: 'a', debug: { echo_upstream_body: true } }
    const { data } = (await quote('embeddings', body, strict)).body
    expect(data).toMatchObject({ would: 'be_refused' })
    expect(data.refusal.error.message).toContain('debug')
  })
})
