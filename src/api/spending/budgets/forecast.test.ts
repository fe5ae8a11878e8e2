import { expect, test } from 'bun:test'
import { forecastSpend } from './forecast.ts'

test.each([
  ['day', '2027-03-03T06:00:00Z', 400n],
  ['day', '2027-03-03T01:11:59Z', null],
  ['day', '2027-03-03T01:12:00Z', 2000n],
  // A Wednesday: two and a half of seven days.
  ['week', '2027-03-03T12:00:00Z', 280n],
  ['month', '2027-02-15T00:00:00Z', 200n],
  ['month', '2027-12-16T12:00:00Z', 200n],
  ['total', '2027-03-03T12:00:00Z', null],
] as const)('100 spent in the %s until %s: %p at its end', (window, time, expected) => {
  expect(forecastSpend(window, 100n, Date.parse(time))).toBe(expected)
})
