import { expect, test } from 'bun:test'
import { dimensionOf } from './dimensions.ts'
import { metricOf } from './metrics.ts'
import { granularityOf, listBuckets, listGroups, toGroupSeries, toSeries } from './series.ts'

const hour = 3_600_000
const start = Date.parse('2028-03-01T10:20:00Z')
const range = { start, end: start + 3 * hour }
const options = { range, granularity: 'hour' as const, metric: metricOf('requests') }
const at = (clock: string) => `2028-03-01T${clock}:00:00.000Z`

test('a chart has a few hundred points at most', () => {
  for (const hours of [1, 3, 24, 7 * 24, 30 * 24, 365 * 24]) {
    const long = { start, end: start + hours * hour }
    const { length } = listBuckets(long, granularityOf(long))
    expect(length).toBeGreaterThan(20)
    expect(length).toBeLessThanOrEqual(367)
  }
})

test('a bucket without requests is zero, and a gap where zero would be wrong', () => {
  expect(listBuckets(range, 'hour')).toHaveLength(4)
  const rows = [{ created_at__hour: at('12'), request_count: 5, p50_latency: 30 }]
  expect(toSeries(rows, options)).toEqual([0, 0, 5, 0])
  expect(toSeries(rows, { ...options, metric: metricOf('latency_p50') })).toEqual([null, null, 30, null])
})

test('groups with the same name stay apart, and the rest of the total is a group', () => {
  const dimension = dimensionOf('key')
  const rows = [
    { created_at__hour: at('10'), api_key_id: 'App', api_key_hash: 'a', request_count: 1 },
    { created_at__hour: at('10'), api_key_id: 'App', api_key_hash: 'b', request_count: 2 },
    { created_at__hour: at('11'), api_key_id: null, api_key_hash: null, request_count: 4 },
  ]
  const groups = listGroups(rows, dimension, options.metric)
  const series = toGroupSeries(rows, [3, 5, 0, 0], { ...options, dimension, groups })
  expect(series.map(({ label, values }) => [label, values[0], values[1]])).toEqual([
    ['No key', 0, 4],
    ['App', 2, 0],
    ['App (2)', 1, 0],
    ['Others', 0, 1],
  ])
})

test('groups keep their order in charts of other metrics', () => {
  const dimension = dimensionOf('model')
  const rows = [
    { created_at__hour: at('10'), model: 'a', request_count: 9, p95_latency: 1 },
    { created_at__hour: at('10'), model: 'b', request_count: 1, p95_latency: 500 },
  ]
  const groups = listGroups(rows, dimension, metricOf('requests'))
  const latency = { ...options, metric: metricOf('latency_p95') }
  const series = toGroupSeries(rows, [], { ...latency, dimension, groups })
  expect(series.map(({ label, values }) => [label, values[0]])).toEqual([
    ['a', 1],
    ['b', 500],
  ])
})
