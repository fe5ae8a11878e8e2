import { expect, test } from 'bun:test'
import { readUtcDay } from './utc-day.ts'

test('a date is the end of that day in UTC', () => {
  expect([readUtcDay('2026-06-01'), readUtcDay('')]).toEqual(['2026-06-01T23:59:59Z', null])
})
