import { expect, test } from 'bun:test'
import { findRemedy } from './delivery-state.ts'

test.each([
  ['The destination returned status 401.', /credentials/],
  ['The destination returned status 404.', /address/],
  ['The destination returned status 429.', /rate/],
  ['The destination returned status 503.', /retried by itself/],
  ['The host name could not be resolved.', /spelling/],
  ['The host could not be reached.', /firewall/],
])('%s has a remedy', (error, remedy) => {
  expect(findRemedy(error)).toMatch(remedy)
})

test('an error that says what to do has no other remedy', () => {
  expect(findRemedy('config.baseUrl is not set: set it to send events.')).toBeNull()
})
