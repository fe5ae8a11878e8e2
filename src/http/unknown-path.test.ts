import { expect, test } from 'bun:test'
import { describeUnknownPath } from './unknown-path.ts'

test.each([
  ['/v1/images/variations', '/images/edits'],
  ['/api/v1/images/variations', '/images/edits'],
  ['/openai/v1/images/variations/', '/images/edits'],
  ['/openai/deployments/dall-e-2/images/variations', '/images/edits'],
  ['/v1/threads/t_1/runs', '/responses'],
  ['/v1/assistants', '/responses'],
  ['/v1/uploads', '/files'],
  ['/v1/vector_stores/vs_1/search', '/embeddings'],
  ['/v1/realtime/sessions', '/responses'],
  ['/v1/fine_tuning/jobs', 'models'],
])('%s is not offered, and the message names %s', (path, alternative) => {
  const { error, operation } = describeUnknownPath('POST', path)
  expect([error.code, error.row.status, error.row.retry]).toEqual(['not_offered', 404, false])
  expect(error.message).toStartWith(`POST ${path} is not offered. `)
  expect(error.message).toContain(alternative)
  expect(operation?.encodeError?.(error, 'req-1')).toMatchObject({ error: { code: 404 } })
})

test.each(['/nowhere', '/v1/images/variations/x', '/images-variations', '/x/threads', '/v1/uploadsx'])(
  '%s does not exist',
  (path) => {
    expect(describeUnknownPath('POST', path).error.code).toBe('route_unknown')
  },
)
