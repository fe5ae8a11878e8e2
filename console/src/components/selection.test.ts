import { expect, test } from 'bun:test'
import { selectRange, toggleAll } from './selection.ts'

const keys = ['a', 'b', 'c', 'd', 'e']

test('a row is chosen, and not any more', () => {
  expect(selectRange(keys, new Set(), { key: 'b', from: null })).toEqual(new Set(['b']))
  expect(selectRange(keys, new Set(['b']), { key: 'b', from: null })).toEqual(new Set())
})

test('a range is chosen in both directions, and becomes what its end becomes', () => {
  expect(selectRange(keys, new Set(['b']), { key: 'd', from: 'b' })).toEqual(new Set(['b', 'c', 'd']))
  expect(selectRange(keys, new Set(['d']), { key: 'b', from: 'd' })).toEqual(new Set(['d', 'b', 'c']))
  expect(selectRange(keys, new Set(keys), { key: 'd', from: 'b' })).toEqual(new Set(['a', 'e']))
  expect(selectRange(keys, new Set(), { key: 'b', from: 'gone' })).toEqual(new Set(['b']))
})

test('all rows, or none', () => {
  expect(toggleAll(keys, new Set(['a']))).toEqual(new Set(keys))
  expect(toggleAll(keys, new Set(keys))).toEqual(new Set())
})
