import { expect, test } from 'bun:test'
import { moveEntry } from './move.ts'

test.each([
  [0, 2, 'bca'],
  [2, 0, 'cab'],
  [1, 1, 'abc'],
  [0, 3, 'abc'],
  [1, -1, 'abc'],
])('from %p to %p: %s', (from, to, expected) => {
  expect(moveEntry([...'abc'], from, to).join('')).toBe(expected)
})
