import { expect, test } from 'bun:test'
import { formatExactMoney, formatMoney } from './money.ts'
import { formatBytes, formatCompact, formatContext, formatDuration, formatShare } from './number.ts'
import { formatAge, formatUtc } from './time.ts'

test.each([
  [0, '$0'],
  [12.3456, '$12.35'],
  [1234567, '$1,234,567.00'],
  [0.5, '$0.50'],
  [0.012345, '$0.0123'],
  [0.0000123456, '$0.0000123'],
  [-0.00205, '-$0.00205'],
])('%p dollars are %s', (dollars, text) => {
  expect(formatMoney(dollars)).toBe(text)
})

test('every digit of a price is shown on request', () => {
  expect(formatExactMoney(0.000001234)).toBe('$0.000001234')
})

test('counts, durations, shares and sizes are short', () => {
  expect([formatCompact(12_345), formatDuration(85.4), formatDuration(2540)]).toEqual([
    '12.3K',
    '85 ms',
    '2.5 s',
  ])
  expect([formatShare(0.9854), formatBytes(0), formatBytes(1_500_000)]).toEqual(['98.5%', '0 B', '1.5 MB'])
})

test('a moment is an age or a time in UTC', () => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  expect(formatAge('2026-01-01T22:00:00Z', now)).toBe('2 hours ago')
  expect(formatAge('2026-01-05T00:00:00Z', now)).toBe('in 3 days')
  expect(formatUtc('2026-01-05T10:20:30.500Z')).toBe('2026-01-05 10:20:30 UTC')
})

test('the context of a model is in its own units', () => {
  expect([131_072, 1_048_576, 128_000, 200_000, 32_769].map(formatContext)).toEqual([
    ...['128K', '1M', '128K', '200K', '32.8K'],
  ])
})
