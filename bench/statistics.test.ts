import { describe, expect, test } from 'bun:test'
import { estimateMedian, median, quartiles } from './statistics.ts'

describe('statistics of blocks', () => {
  test('the median and the middle half do not depend on the order', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([4, 1, 2, 3])).toBe(2.5)
    expect(quartiles([5, 1, 4, 2, 3])).toEqual({ low: 2, high: 4 })
    expect(quartiles([7])).toEqual({ low: 7, high: 7 })
    expect(median([])).toBeNaN()
  })

  test('an interval needs six values, and then has all of them', () => {
    expect(estimateMedian([1, 2, 3, 4, 5])).toEqual({ median: 3, interval: null })
    expect(estimateMedian([1, 2, 3, 4, 5, 6])).toEqual({ median: 3.5, interval: { low: 1, high: 6 } })
    expect(estimateMedian([]).interval).toBeNull()
  })

  test('the interval is that of the tables of the sign test', () => {
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
    expect(estimateMedian(upTo(9)).interval).toEqual({ low: 2, high: 8 })
    expect(estimateMedian(upTo(12)).interval).toEqual({ low: 3, high: 10 })
    expect(estimateMedian(upTo(20)).interval).toEqual({ low: 6, high: 15 })
  })

  test('one bad block does not hide a difference of all others', () => {
    const { median: middle, interval } = estimateMedian([-2, -2.1, -1.9, -2, -2.2, -1.8, -2, -2.1, 40])
    expect(middle).toBe(-2)
    expect(interval?.high).toBeLessThan(0)
  })
})
