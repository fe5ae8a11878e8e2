import { expect, test } from 'bun:test'
import { hasSameSearch, viewSearchOf } from './saved-view-search.ts'

test('a view has the query as it is written, without the page', () => {
  expect(viewSearchOf('?status=failed&offset=50&page=2&key=%22123%22')).toEqual({
    status: 'failed',
    key: '"123"',
  })
  expect(viewSearchOf('')).toEqual({})
})

test('two searches are the same in any order', () => {
  expect(hasSameSearch({ a: '1', b: '2' }, { b: '2', a: '1' })).toBe(true)
  expect(hasSameSearch({ a: '1' }, { a: '1', b: '2' })).toBe(false)
  expect(hasSameSearch({ a: '1', c: '2' }, { a: '1', b: '2' })).toBe(false)
})
