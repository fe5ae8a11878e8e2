import { expect, test } from 'bun:test'
import { listIds } from './id-lists.ts'

test('ids are listed once, in one order, a hundred at a time', () => {
  expect(listIds([])).toEqual([])
  expect(listIds(['b', 'a', 'b'])).toEqual(['a,b'])
  const many = Array.from({ length: 101 }, (_, index) => `id-${1000 + index}`)
  expect(listIds(many).map((list) => list.split(',').length)).toEqual([100, 1])
})
