import { expect, test } from 'bun:test'
import { bucketsOf, histogramQuery, ignoredFilters } from './histogram.ts'

const now = Date.parse('2026-11-16T12:30:00Z')

test('every hour of a day has a bucket, with its errors', () => {
  const rows = [
    { created_at__hour: '2026-11-16T12:00:00.000Z', finish_reason: 'stop', request_count: 3 },
    { created_at__hour: '2026-11-16T12:00:00.000Z', finish_reason: 'error', request_count: 2 },
  ]
  const buckets = bucketsOf(rows, '24h', now)
  expect(buckets).toHaveLength(25)
  expect(buckets.at(-1)).toEqual({ start: '2026-11-16T12:00:00.000Z', requests: 5, errors: 2 })
  expect(buckets[0]?.requests).toBe(0)
})

test('filters that the analytics do not know are named', () => {
  const search = { model: 'a/b', status: 'failed', period: '7d' as const }
  expect(ignoredFilters(search)).toEqual(['status'])
  expect(histogramQuery(search, '7d', now).filters).toEqual([
    { field: 'model', operator: 'eq', value: 'a/b' },
  ])
})
