import { expect, test } from 'bun:test'
import { linesOf } from './sparkline-lines.ts'

const size = { width: 104, height: 24 }

test('the highest value is at the top, zero at the bottom', () => {
  expect(linesOf([0, 50, 100], size)).toEqual(['2,22 52,12 102,2'])
})

test('a gap ends a line, and a single value is a dot', () => {
  expect(linesOf([1, 1, null, 1, null], size)).toEqual(['2,2 27,2', '77,2 77,2'])
})

test('nothing is drawn without values', () => {
  expect(linesOf([], size)).toEqual([])
  expect(linesOf([null, null], size)).toEqual([])
})
