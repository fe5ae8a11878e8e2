import { expect, test } from 'bun:test'
import { previousRange, rangeOf, readActivitySearch } from './search.ts'

test('keeps the choices of an address', () => {
  const search = {
    metric: 'errors',
    group: 'key',
    period: 'day',
    compare: true,
    chart: 'lines',
    model: 'a/b,!c/d',
    tag: 'project=apollo',
    latency: 'p50',
  }
  expect(readActivitySearch(search)).toEqual(search as ReturnType<typeof readActivitySearch>)
})

test('a tag is a dimension, and a number in the address a text', () => {
  expect(readActivitySearch({ group: 'tag:project', external_user: 42 })).toEqual({
    group: 'tag:project',
    external_user: '42',
  })
})

test('drops what is not a choice', () => {
  const search = {
    metric: 'toString',
    group: ['model'],
    period: 'century',
    compare: 'yes',
    model: {},
    tag: 'apollo',
    app: 'x'.repeat(300),
    other: 1,
  }
  expect(readActivitySearch(search)).toEqual({})
})

test('a range of its own needs a start before its end, at most a year apart', () => {
  const from = '2028-03-01T00:00:00Z'
  expect(readActivitySearch({ from, to: '2028-03-02T00:00:00.000Z', period: 'day' })).toEqual({
    from,
    to: '2028-03-02T00:00:00Z',
  })
  for (const to of [from, '2028-02-01T00:00:00Z', '2029-03-02T00:00:00Z', 'tomorrow', undefined])
    expect(readActivitySearch({ from, to })).toEqual({})
})

test('a period ends with the present minute, hour or UTC day', () => {
  const rangeAt = (period: 'hour' | 'day' | 'week' | 'month', time: string) => {
    const { start, end } = rangeOf({ period }, Date.parse(time))
    return [start, end].map((ms) => new Date(ms).toISOString().slice(0, 16))
  }
  const now = '2028-03-01T10:20:30Z'
  expect(rangeAt('hour', now)).toEqual(['2028-03-01T09:21', '2028-03-01T10:21'])
  expect(rangeAt('day', now)).toEqual(['2028-02-29T11:00', '2028-03-01T11:00'])
  expect(rangeAt('week', now)).toEqual(['2028-02-23T11:00', '2028-03-01T11:00'])
  expect(rangeAt('month', now)).toEqual(['2028-02-01T00:00', '2028-03-02T00:00'])
})

test('the period before is as long', () => {
  const range = rangeOf({ period: 'day' }, 10 * 86_400_000)
  expect(previousRange(range)).toEqual({ start: 8 * 86_400_000, end: 9 * 86_400_000 })
})
