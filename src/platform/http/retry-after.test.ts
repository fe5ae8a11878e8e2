import { expect, test } from 'bun:test'
import { parseRetryAfter } from './retry-after.ts'

const now = Date.parse('2026-11-15T12:00:00Z')

test.each([
  ['7', 7000],
  ['0.5', 500],
  ['Sun, 15 Nov 2026 12:00:30 GMT', 30_000],
  ['Sun, 15 Nov 2026 11:00:00 GMT', 0],
  ['999999999', 86_400_000],
  ['5, 6', undefined],
  ['2026', 2_026_000],
  ['-1', 0],
  ['soon', undefined],
])('Retry-After: %s', (text, expected) => {
  expect(parseRetryAfter(new Headers({ 'retry-after': text }), now)).toBe(expected)
})

test('milliseconds take precedence over seconds', () => {
  expect(parseRetryAfter(new Headers({ 'retry-after-ms': '250', 'retry-after': '7' }), now)).toBe(250)
})
