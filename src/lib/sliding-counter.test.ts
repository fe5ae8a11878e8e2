import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { SlidingCounter } from './sliding-counter.ts'

const second = 1000

describe('a tally', () => {
  test('counts fields apart from each other', () => {
    const tally = new SlidingCounter(second, 31, 2)
    for (let count = 0; count < 3; count++) tally.add(5000, 0)
    tally.add(5000, 1)
    expect([tally.sum(5000, 30 * second, 0), tally.sum(5000, 30 * second, 1)]).toEqual([3, 1])
  })

  test('remembers for the whole window, wherever in a slot it began', () => {
    for (const at of [60_000, 60_001, 60_500, 60_999]) {
      const tally = new SlidingCounter(second, 31, 1)
      tally.add(at, 0)
      expect(tally.sum(at + 30 * second - 1, 30 * second, 0)).toBe(1)
      expect(tally.sum(at + 31 * second, 30 * second, 0)).toBe(0)
    }
  })

  test('never forgets what is within the window, nor keeps what is a slot older', () => {
    const slots = 31
    const window = (slots - 1) * second
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 200 }),
        fc.integer({ min: 0, max: 60_000 }),
        (moments, later) => {
          const tally = new SlidingCounter(second, slots, 1)
          const sorted = moments.toSorted((a, b) => a - b)
          for (const at of sorted) tally.add(at, 0)
          const now = (sorted.at(-1) ?? 0) + later
          const within = (ms: number) => sorted.filter((at) => at > now - ms).length
          const sum = tally.sum(now, window, 0)
          return within(window) <= sum && sum <= within(window + second)
        },
      ),
    )
  })

  test('what stood at a place before is gone when its slot comes round again', () => {
    const tally = new SlidingCounter(second, 4, 2)
    tally.add(0, 0)
    tally.add(0, 1)
    tally.add(4 * second, 0)
    expect([tally.sum(4 * second, 3 * second, 0), tally.sum(4 * second, 3 * second, 1)]).toEqual([1, 0])
  })
})
