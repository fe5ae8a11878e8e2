import { expect, test } from 'bun:test'
import { isLiteLlmRecord, readLiteLlmRecord } from './litellm.ts'

const messages = [{ role: 'user', content: 'Hello' }]
const response = { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' } }] }
const record = {
  ...{
    id: 'a',
    call_type: 'acompletion',
    status: 'success',
    stream: true,
    model: 'gpt-4o',
    model_group: 'chat',
  },
  ...{ startTime: 10, completionStartTime: 10.2, endTime: 11, response_cost: 0.5, messages, response },
  model_parameters: { temperature: 1, tools: [], max_retries: 3, top_p: null },
}

test('a record of a callback', () => {
  expect(isLiteLlmRecord(record)).toBe(true)
  expect(readLiteLlmRecord(record)).toEqual({
    ...{ id: 'a', format: 'chat', reply: response, error: null, model: 'gpt-4o', provider: null },
    request: { temperature: 1, tools: [], stream: true, model: 'chat', messages },
    ...{ costUsd: 0.5, latencyMs: 1000, firstTokenMs: 200 },
  })
})

test('a row of the spend logs, with JSON as text and times without a zone', () => {
  const row = {
    ...{ request_id: 'b', call_type: 'completion', spend: 0.1, status: 'success', model: 'gpt-4o' },
    ...{ startTime: '2026-01-01 10:00:00.000', endTime: '2026-01-01 10:00:01.500', messages: '{}' },
    response: JSON.stringify(response),
    proxy_server_request: JSON.stringify({ model: 'chat', messages, api_key: 'x', user: 'u' }),
  }
  expect(readLiteLlmRecord(row)).toMatchObject({
    ...{ id: 'b', request: { model: 'chat', messages, user: 'u' }, costUsd: 0.1, latencyMs: 1500 },
    reply: response,
  })
  expect(readLiteLlmRecord(row)?.request).not.toHaveProperty('api_key')
})

test('a failure has the code of its error', () => {
  const failed = {
    ...record,
    ...{ status: 'failure', response: 'boom', error_information: { error_code: '429', error_class: 'X' } },
  }
  expect(readLiteLlmRecord(failed)).toMatchObject({ reply: null, error: '429' })
  expect(readLiteLlmRecord({ ...failed, error_information: { error_class: 'Bad Error' } })).toMatchObject({
    error: 'Bad_Error',
  })
})

test.each([
  ['another call', { call_type: 'aembedding' }],
  ['no prompt', { messages: 'redacted-by-litellm' }],
  ['an empty prompt', { messages: [] }],
])('null for %s', (_, change) => {
  expect(readLiteLlmRecord({ ...record, ...change })).toBeNull()
})
