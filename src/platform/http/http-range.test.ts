import { expect, test } from 'bun:test'
import { parseRange } from './http-range.ts'

test.each([
  ['bytes=0-4', { start: 0, end: 5 }],
  ['bytes=5-', { start: 5, end: 10 }],
  ['bytes=-3', { start: 7, end: 10 }],
  ['bytes=-99', { start: 0, end: 10 }],
  ['bytes=9-9', { start: 9, end: 10 }],
  ['bytes=2-999', { start: 2, end: 10 }],
  ['Bytes = 1 - 2', { start: 1, end: 3 }],
])('%s is a part of ten bytes', (header, range) => {
  expect(parseRange(header, 10)).toEqual(range)
})

test.each(['bytes=10-', 'bytes=10-12', 'bytes=99-100', 'bytes=-0', 'bytes=11-'])(
  '%s is outside of ten bytes',
  (header) => {
    expect(parseRange(header, 10)).toBe('unsatisfiable')
  },
)

test.each([
  null,
  '',
  'bytes',
  'bytes=',
  'bytes=-',
  'bytes=4-2',
  'bytes=0-1,3-4',
  'items=0-1',
  'bytes=a-b',
  'bytes=1-2-3',
])('%p is the whole', (header) => {
  expect(parseRange(header, 10)).toBeNull()
})
