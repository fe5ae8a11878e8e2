import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { SlidingCounter } from './sliding-counter.ts'

const second = 1000

describe('SlidingCounter', () => {
  test('counts fields separately', () => {
    const counter = new SlidingCounter(second, 31, 2)
    for (let count = 0; count < 3; count++) counter.add(5000, 0)
    counter.add(5000, 1)
    expect([counter.sum(5000, 30 * second, 0), counter.sum(5000, 30 * second, 1)]).toEqual([3, 1])
  })

  test('counts for the whole window, wherever in a slot it began', () => {
    for (const at of [60_000, 60_001, 60_500, 60_999]) {
      const counter = new SlidingCounter(second, 31, 1)
      counter.add(at, 0)
      expect(counter.sum(at + 30 * second - 1, 30 * second, 0)).toBe(1)
      expect(counter.sum(at + 31 * second, 30 * second, 0)).toBe(0)
    }
  })

  test('counts everything within the window, and nothing a slot older', () => {
    const slots = 31
    const window = (slots - 1) * second
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 200 }),
        fc.integer({ min: 0, max: 60_000 }),
        (moments, later) => {
          const counter = new SlidingCounter(second, slots, 1)
          const sorted = moments.toSorted((a, b) => a - b)
          for (const at of sorted) counter.add(at, 0)
          const now = (sorted.at(-1) ?? 0) + later
          const within = (ms: number) => sorted.filter((at) => at > now - ms).length
          const sum = counter.sum(now, window, 0)
          return within(window) <= sum && sum <= within(window + second)
        },
      ),
    )
  })

  test('a reused slot starts empty', () => {
    const counter = new SlidingCounter(second, 4, 2)
    counter.add(0, 0)
    counter.add(0, 1)
    counter.add(4 * second, 0)
    expect([counter.sum(4 * second, 3 * second, 0), counter.sum(4 * second, 3 * second, 1)]).toEqual([1, 0])
  })
})
