import { expect, test } from 'bun:test'
import { rangeOf, readHomeSearch } from './search.ts'

test('only what can be chosen is read from the address', () => {
  expect(readHomeSearch({ period: 'week', by: 'tokens' })).toEqual({ period: 'week', by: 'tokens' })
  expect(readHomeSearch({ period: 'year', by: 'constructor' })).toEqual({})
  expect(readHomeSearch({ period: 'day', by: 'spend' })).toEqual({})
})

test('a period ends with the present hour, and begins where the one before ends', () => {
  const now = Date.parse('2028-03-15T12:34:56Z')
  const { start, end } = rangeOf('day', now)
  expect(new Date(end).toISOString()).toBe('2028-03-15T13:00:00.000Z')
  expect(new Date(start).toISOString()).toBe('2028-03-14T13:00:00.000Z')
  const before = rangeOf('week', now, true)
  expect(before.end).toBe(rangeOf('week', now).start)
  expect(before.end - before.start).toBe(7 * 86_400_000)
})
