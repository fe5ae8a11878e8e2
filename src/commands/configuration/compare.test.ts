import { expect, test } from 'bun:test'
import { isCovered } from './compare.ts'

test('a record is as a document says, whatever else it has', () => {
  expect(isCovered({ a: 1 }, { a: 1, b: 2 }, false)).toBe(true)
  expect(isCovered({ a: 1 }, { a: 2 }, false)).toBe(false)
  expect(isCovered({ a: { b: [] } }, {}, false)).toBe(true)
  expect(isCovered({ at: '2030-01-01T00:00:00Z' }, { at: '2030-01-01T00:00:00.000Z' }, false)).toBe(true)
})

test('the order of a list counts only where it has a meaning, and each item only once', () => {
  expect(isCovered(['a', 'b'], ['b', 'a'], false)).toBe(true)
  expect(isCovered(['a', 'b'], ['b', 'a'], true)).toBe(false)
  expect(isCovered(['a', 'a'], ['a', 'b'], false)).toBe(false)
  expect(isCovered(['a'], ['a', 'b'], false)).toBe(false)
  expect(isCovered([{ id: 1 }, { id: 2 }], [{ id: 2, name: 'two' }, { id: 1 }], false)).toBe(true)
})
