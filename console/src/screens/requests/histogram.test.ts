import { expect, test } from 'bun:test'
import { bucketsOf, histogramQuery } from './histogram.ts'

const now = Date.parse('2026-11-16T12:30:00Z')

test('every filter of the list applies to the bars', () => {
  const search = { model: 'a/b', status: 'failed', period: '7d' as const }
  const from = '2026-11-09T12:30:00.000Z'
  expect(histogramQuery(search, now)).toEqual({ model: 'a/b', status: 'failed', from, buckets: 60 })
})

test('all time is shown as its last 30 days, a range of another screen as it is', () => {
  expect(histogramQuery({ period: 'all' }, now).from).toBe('2026-10-17T12:30:00.000Z')
  const range = { from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' }
  expect(histogramQuery({ ...range, period: 'all' }, now)).toEqual({ ...range, buckets: 60 })
})

test('whatever did not complete is an error', () => {
  const bucket = { start: 's', requests: 6, failed: 1, cancelled: 2, refused: 1, cost: 0.1 }
  expect(bucketsOf({ data: [bucket], searched_to: null })).toEqual([{ start: 's', requests: 6, errors: 4 }])
})
