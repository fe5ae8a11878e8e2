import { describe, expect, test } from 'bun:test'
import type { FailureKind } from '../call/failure.ts'
import { chat } from './chat.ts'

const cases: [FailureKind, number, unknown][] = [
  [
    'context_length_exceeded',
    400,
    { error: { message: 'Too much', type: 'invalid_request_error', code: 'context_length_exceeded' } },
  ],
  [
    'context_length_exceeded',
    400,
    {
      error: {
        message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
      },
    },
  ],
  [
    'context_length_exceeded',
    422,
    { message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' },
  ],
  [
    'context_length_exceeded',
    400,
    { error: { message: 'prompt is too long: 210000 tokens > 200000 maximum' } },
  ],
  [
    'content_policy_violation',
    400,
    { error: { code: 'content_filter', message: 'The response was filtered' } },
  ],
  [
    'content_policy_violation',
    400,
    { error: { message: 'Your request was rejected as a result of our safety system.' } },
  ],
  [
    'payment_required',
    429,
    {
      error: {
        message: 'You exceeded your current quota',
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      },
    },
  ],
  [
    'rate_limit_exceeded',
    429,
    { error: { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' } },
  ],
  ['rate_limit_exceeded', 429, 'slow down'],
  [
    'authentication',
    401,
    { error: { message: 'Incorrect API key', type: 'invalid_request_error', code: 'invalid_api_key' } },
  ],
  [
    'not_found',
    404,
    { error: { message: 'No such model', type: 'invalid_request_error', code: 'model_not_found' } },
  ],
  ['provider_overloaded', 503, { error: { message: 'Over capacity', type: 'internal_server_error' } }],
  ['provider_unavailable', 500, { error: { message: 'Oops', type: 'server_error' } }],
  ['provider_unavailable', 502, '<html>Bad gateway</html>'],
  ['invalid_request', 400, { error: 'temperature must be at most 1' }],
  ['unprocessable', 422, { detail: [{ loc: ['body', 'seed'], msg: 'extra fields not permitted' }] }],
  ['invalid_request', 400, [{ error: { code: 400, message: 'Invalid value', status: 'INVALID_ARGUMENT' } }]],
  ['timeout', 504, null],
]

describe('an error of the upstream', () => {
  test.each(cases)('%s: %i %j', (kind, status, body) => {
    const failure = chat.upstream.decodeError(status, body)
    expect(failure).toMatchObject({ kind, status })
    expect(failure.message.length).toBeGreaterThan(0)
  })

  test('keeps its message and its code', () => {
    const body = {
      error: { message: 'Rate limit reached', code: 'rate_limit_exceeded', type: 'tokens', param: null },
    }
    expect(chat.upstream.decodeError(429, body)).toEqual({
      detail: body.error,
      kind: 'rate_limit_exceeded',
      status: 429,
      message: 'Rate limit reached',
      code: 'rate_limit_exceeded',
    })
    expect(chat.upstream.decodeError(400, { detail: 'Not like this' }).message).toBe('Not like this')
    const listed = { detail: [{ loc: ['body', 'seed'], msg: 'not permitted' }] }
    expect(chat.upstream.decodeError(422, listed).message).toBe('body.seed: not permitted')
  })
})
