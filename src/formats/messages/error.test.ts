import { expect, test } from 'bun:test'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { decodeError, encodeError } from './error.ts'

test('an error has the fields of the vendor and of the API envelope', () => {
  expect(encodeError(invalidFieldError('max_tokens', 'must be a number'), 'req-1')).toEqual({
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'max_tokens: must be a number',
      error_type: 'invalid_request',
      code: 400,
      string_code: 'invalid_request',
      param: 'max_tokens',
      metadata: {
        error_type: 'invalid_request',
        reason: 'invalid_request',
        issues: [{ field: 'max_tokens', message: 'must be a number' }],
      },
    },
    request_id: 'req-1',
    user_id: null,
  })
  expect(encodeError(gatewayError('key_expired'), 'r')).toMatchObject({
    error: { type: 'authentication_error' },
  })
  expect(encodeError(gatewayError('credits_exhausted'), 'r')).toMatchObject({
    error: { type: 'billing_error', code: 402 },
  })
})

const errorBody = (type: string, message: string) => ({ type: 'error', error: { type, message } })

test.each([
  [
    400,
    errorBody('invalid_request_error', 'prompt is too long: 210000 tokens > 200000'),
    'context_length_exceeded',
  ],
  [400, errorBody('invalid_request_error', 'max_tokens: 90000 > 64000, the maximum'), 'max_tokens_exceeded'],
  [
    400,
    errorBody('invalid_request_error', 'Your credit balance is too low to use the API'),
    'payment_required',
  ],
  [400, errorBody('invalid_request_error', 'messages.0: bad'), 'invalid_request'],
  [401, errorBody('authentication_error', 'invalid x-api-key'), 'authentication'],
  [403, errorBody('permission_error', 'no'), 'permission_denied'],
  [404, errorBody('not_found_error', 'model: x'), 'not_found'],
  [413, errorBody('request_too_large', 'big'), 'payload_too_large'],
  [429, errorBody('rate_limit_error', 'slow down'), 'rate_limit_exceeded'],
  [500, errorBody('api_error', 'Internal server error'), 'provider_unavailable'],
  [529, errorBody('overloaded_error', 'Overloaded'), 'provider_overloaded'],
  [529, '', 'provider_overloaded'],
  [502, '<html>Bad gateway</html>', 'provider_unavailable'],
  [
    429,
    [{ error: { code: 429, message: 'Quota exceeded', status: 'RESOURCE_EXHAUSTED' } }],
    'rate_limit_exceeded',
  ],
  [400, { message: 'The security token is invalid' }, 'invalid_request'],
  [503, null, 'provider_overloaded'],
])('%d %j is %s', (status, body, kind) => {
  expect(decodeError(status, body)).toMatchObject({ kind, status })
})

test('the message of the vendor is preserved, and a page is truncated', () => {
  expect(decodeError(429, errorBody('rate_limit_error', 'slow down'))).toMatchObject({
    message: 'slow down',
    code: 'rate_limit_error',
  })
  expect(decodeError(502, 'x'.repeat(5000)).message).toHaveLength(500)
})

test.each([
  ['a text', { error: 'Out of memory.' }],
  ['an object with details instead of a message', { error: { type: 'api_error', detail: 'Out of memory.' } }],
  ['an object with an empty message', { error: { message: '', detail: 'Out of memory.' } }],
])('an error of an upstream that is %s has its message', (_, body) => {
  expect(decodeError(500, body).message).toBe('Out of memory.')
})
