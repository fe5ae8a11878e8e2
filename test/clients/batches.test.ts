import { expect, test } from 'bun:test'
import { messages, modelOf, prompt, rejection, useLab } from './lab.ts'
import { anthropicClient, googleClient, openaiClient } from './sdks.ts'

const lab = useLab()

// With retries, so that an unwanted one is noticed.
const openai = () => openaiClient(lab(), { maxRetries: 2 })
const anthropic = () => anthropicClient(lab(), { maxRetries: 2 })
const google = () => googleClient(lab())

const attempts: [string, () => PromiseLike<unknown>][] = [
  [
    'OpenAI, create',
    () =>
      openai().batches.create({
        input_file_id: 'file-1',
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      }),
  ],
  ['OpenAI, list', () => openai().batches.list()],
  ['OpenAI, retrieve', () => openai().batches.retrieve('batch_1')],
  ['OpenAI, cancel', () => openai().batches.cancel('batch_1')],
  [
    'Anthropic, create',
    () =>
      anthropic().messages.batches.create({
        requests: [{ custom_id: 'a', params: { model: modelOf('messages'), max_tokens: 10, messages } }],
      }),
  ],
  ['Anthropic, list', () => anthropic().messages.batches.list()],
  ['Anthropic, retrieve', () => anthropic().messages.batches.retrieve('msgbatch_1')],
  ['Anthropic, cancel', () => anthropic().messages.batches.cancel('msgbatch_1')],
  ['Anthropic, delete', () => anthropic().messages.batches.delete('msgbatch_1')],
  [
    'Google, create',
    () =>
      google().batches.create({
        model: modelOf('gemini'),
        src: [{ contents: [{ role: 'user', parts: [{ text: prompt }] }] }],
      }),
  ],
  ['Google, get', () => google().batches.get({ name: 'batches/1' })],
  ['Google, list', () => google().batches.list()],
]

test.each(attempts)('batches are not offered and the request is not retried: %s', async (_, attempt) => {
  const requests = await lab().requestsDuring(async () => {
    const error = (await rejection(attempt())) as Error & { status?: number }
    expect(error.message).toContain('Batches are not offered')
    expect(error.status).toBe(404)
  })
  expect(requests).toEqual([])
})

test('the error has the envelope, and x-should-retry is false', async () => {
  const response = await fetch(`${lab().url}/v1/messages/batches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${lab().key}`, 'content-type': 'application/json' },
    body: '{"requests":[]}',
  })
  expect(response.status).toBe(404)
  expect(response.headers.get('x-should-retry')).toBe('false')
  expect(await response.json()).toMatchObject({
    type: 'error',
    error: { type: 'not_found_error', code: 404, metadata: { reason: 'not_offered' } },
  })
})
