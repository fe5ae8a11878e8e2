import { expect, test } from 'bun:test'
import { bucketAt, moveBrush, periodOf } from './brush.ts'

test('a position is in one of the buckets, also outside of the chart', () => {
  expect([-5, 0, 99, 100, 599, 700].map((x) => bucketAt(x, 600, 6))).toEqual([0, 0, 0, 1, 5, 5])
  expect(bucketAt(3, 0, 6)).toBe(5)
})

test('the period covers the chosen buckets, whichever is first', () => {
  const starts = [0, 60_000, 120_000, 180_000]
  const expected = { from: '1970-01-01T00:01:00.000Z', to: '1970-01-01T00:03:00.000Z' }
  expect(periodOf({ from: 1, to: 2 }, starts)).toEqual(expected)
  expect(periodOf({ from: 2, to: 1 }, starts)).toEqual(expected)
  expect(periodOf({ from: 1, to: 7 }, starts)).toBeNull()
})

test('a period is a second at least', () => {
  expect(periodOf({ from: 0, to: 0 }, [0, 10])?.to).toBe('1970-01-01T00:00:01.000Z')
})

test('arrow keys begin at the newest bucket, move and extend, and stay inside', () => {
  const newest = moveBrush(null, { step: -1, isExtending: false }, 10)
  expect(newest).toEqual({ from: 9, to: 9 })
  expect(moveBrush(newest, { step: 1, isExtending: false }, 10)).toEqual({ from: 9, to: 9 })
  const extended = moveBrush(newest, { step: -1, isExtending: true }, 10)
  expect(extended).toEqual({ from: 9, to: 8 })
  expect(moveBrush(extended, { step: -1, isExtending: false }, 10)).toEqual({ from: 7, to: 7 })
  expect(moveBrush(null, { step: 1, isExtending: false }, 0)).toBeNull()
})
