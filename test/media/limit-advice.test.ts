import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../support/harness.ts'
import { inputAudio, silentWav } from '../support/recordings.ts'

describeOnEachDatabase('a request that exceeds the limit of its key', (server) => {
  test.each([
    [
      '/chat/completions',
      { model: 'sandbox/echo', messages: [{ role: 'user', content: 'a' }] },
      'max_tokens',
    ],
    ['/embeddings', { model: 'sandbox/embedder', input: 'a'.repeat(4000) }, 'shorter inputs'],
    ['/rerank', { model: 'sandbox/reranker', query: 'a', documents: ['b'] }, 'shorter documents'],
    ['/images', { model: 'sandbox/painter', prompt: 'a' }, 'smaller images'],
    ['/audio/speech', { model: 'sandbox/speaker', input: 'Hello', response_format: 'wav' }, 'the input'],
    [
      '/audio/transcriptions',
      { model: 'sandbox/listener', input_audio: inputAudio(silentWav(1)) },
      'shorter recording',
    ],
  ])('%s is 402 with advice that fits the request', async (path, body, advice) => {
    const { key } = (await server().call('POST', '/keys', { body: { name: 'poor', limit: 0.00001 } })).body
    const reply = await server().call('POST', path, { key, body })
    expect(reply.status).toBe(402)
    expect(reply.body.error.message).toContain('of the lifetime limit of this key.')
    expect(reply.body.error.message).toContain(advice)
  })
})
