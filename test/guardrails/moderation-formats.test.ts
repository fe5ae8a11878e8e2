import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { setKeyGuardrail } from './support.ts'

const text = 'A film with violence'
const model = 'sandbox/echo'
const messages = [{ role: 'user', content: text }]
const contents = [{ role: 'user', parts: [{ text }] }]

/** A path and a body with the flagged text for each way to send one. */
const requests: Record<string, [path: string, body: object]> = {
  chat: ['/api/v1/chat/completions', { model, messages }],
  'chat, streamed': ['/api/v1/chat/completions', { model, messages, stream: true }],
  completions: ['/api/v1/completions', { model, prompt: text }],
  messages: ['/api/v1/messages', { model, messages, max_tokens: 10 }],
  'messages, streamed': ['/api/v1/messages', { model, messages, max_tokens: 10, stream: true }],
  responses: ['/api/v1/responses', { model, input: text }],
  'responses, streamed': ['/api/v1/responses', { model, input: text, stream: true }],
  'responses in the background': ['/api/v1/responses', { model, input: text, background: true }],
  gemini: ['/v1beta/models/sandbox%2Fecho:generateContent', { contents }],
  'gemini, streamed': ['/v1beta/models/sandbox%2Fecho:streamGenerateContent?alt=sse', { contents }],
  ollama: ['/api/chat', { model, messages, stream: false }],
  embeddings: ['/api/v1/embeddings', { model: 'sandbox/embedder', input: ['Hello', text] }],
  rerank: ['/api/v1/rerank', { model: 'sandbox/reranker', query: 'film', documents: [text] }],
  images: ['/api/v1/images', { model: 'sandbox/painter', prompt: text }],
  speech: ['/api/v1/audio/speech', { model: 'sandbox/speaker', input: text, voice: 'alto' }],
  video: ['/api/v1/videos', { model: 'sandbox/filmmaker', prompt: text }],
}

describe('moderation on the sandbox', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite', { settings: 'moderation: { model: sandbox/moderator }' })
    await setKeyGuardrail(server, { moderation: { action: 'block' } })
  })
  afterAll(() => server.stop())
  const send = async ([path, body]: [string, object]) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.own.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: await response.json() }
  }
  const listModels = async () => {
    const rows = await server.gateway.db.selectFrom('generations').select('model').execute()
    return new Set(rows.map((row) => row.model))
  }

  for (const [name, request] of Object.entries(requests)) {
    test(`a flagged prompt is 403 in ${name}`, async () => {
      const { status, body } = await send(request)
      expect(status).toBe(403)
      expect(JSON.stringify(body)).toContain('The input was flagged by moderation: violence.')
      expect(await listModels()).toEqual(new Set(['sandbox/moderator']))
    })
  }

  test('R35 a filter redacts the prompt of another task before it is moderated', async () => {
    const content_filter_builtins = [{ slug: 'credit-card', action: 'redact' }]
    await setKeyGuardrail(server, { content_filter_builtins })
    const prompt = 'violence, paid with 4111 1111 1111 1111'
    const { body } = await send(['/api/v1/images', { model: 'sandbox/painter', prompt }])
    const flagged_input = 'violence, paid with [CREDIT_CARD]'
    expect(body).toMatchObject({ error: { metadata: { flagged_input } } })
    await setKeyGuardrail(server, { content_filter_builtins: null })
  })

  test('I7 each format has its own envelope', async () => {
    const metadata = { reasons: ['violence'], flagged_input: text, model_slug: 'sandbox/moderator' }
    const find = (name: string) => requests[name] ?? ['', {}]
    expect((await send(find('chat'))).body).toMatchObject({ error: { code: 403, metadata } })
    expect((await send(find('responses'))).body).toMatchObject({ error: { code: 403, metadata } })
    expect((await send(find('messages'))).body).toMatchObject({
      type: 'error',
      error: { type: 'permission_error', metadata },
    })
    expect((await send(find('gemini'))).body).toMatchObject({
      error: { code: 403, status: 'PERMISSION_DENIED' },
    })
  })
})

describe('the plugin moderation without a moderation model', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  test('is 400, and names the field and the remedy; a quote says so too', async () => {
    const key = server.own.inferenceKey
    const body = { model, messages, plugins: [{ id: 'moderation' }] }
    const { status, body: reply } = await server.call('POST', '/chat/completions', { key, body })
    expect(status).toBe(400)
    expect(reply.error.message).toStartWith('plugins.moderation: ')
    expect(reply.error.message).toContain('`moderation.model` in headgate.yaml')
    const { data } = (await server.call('POST', '/quote', { key, body })).body
    expect(data).toMatchObject({ would: 'be_refused', refusal: { error: { param: 'plugins.moderation' } } })
  })
})
