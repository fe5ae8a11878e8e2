import { expect, test } from 'bun:test'
import { ApiError } from '../../api/error.ts'
import { describeError, describeStatus } from './provider-failure.ts'

test.each([
  [401, 'refused the key'],
  [403, 'refused the key'],
  [402, 'no credit'],
  [404, 'does not offer the model'],
  [429, 'rate limit or quota'],
  [500, 'Try again later'],
  [400, 'refused the request'],
])('a provider that answers %p: %s', (status, text) => {
  expect(describeStatus(status)).toContain(text)
})

test('a provider that does not answer, and a refusal of the gateway', () => {
  const failed = new ApiError(502, 'The provider failed.', null, { reason: 'upstream_failed' })
  expect(describeError(failed)).toContain('could not be reached')
  const refused = new ApiError(402, 'No credits are left.', null, { reason: 'credits_exhausted' })
  expect(describeError(refused)).toBe('No credits are left.')
})
