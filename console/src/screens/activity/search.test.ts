import { expect, test } from 'bun:test'
import { previousRange, rangeOf, readActivitySearch } from './search.ts'

test('keeps the choices of an address', () => {
  const search = {
    metric: 'errors',
    group: 'key',
    period: 'day',
    compare: true,
    chart: 'lines',
    model: 'a/b',
  }
  expect(readActivitySearch(search)).toEqual(search as ReturnType<typeof readActivitySearch>)
})

test('drops what is not a choice', () => {
  const search = {
    metric: 'toString',
    group: ['model'],
    period: 'century',
    compare: 'yes',
    model: 5,
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

test('the period before is as long', () => {
  const range = rangeOf({ period: 'day' }, 10 * 86_400_000)
  expect(previousRange(range)).toEqual({ start: 8 * 86_400_000, end: 9 * 86_400_000 })
})
