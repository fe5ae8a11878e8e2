import { expect, test } from 'bun:test'
import { AttemptLimiter } from './attempt-limiter.ts'

const minuteMs = 60_000

/** Counts an attempt at the first moment at which it is allowed. Returns how long that took. */
function attempt(limiter: AttemptLimiter, name: string, now: number): number {
  const waitMs = limiter.waitMs(name, now)
  expect(limiter.waitMs(name, now + waitMs)).toBe(0)
  if (waitMs > 0) expect(limiter.waitMs(name, now + waitMs - 1)).toBe(1)
  limiter.count(name, now + waitMs)
  return waitMs
}

test('after the free attempts each takes twice as long, up to 15 minutes', () => {
  const limiter = new AttemptLimiter(3)
  let now = 1_000_000
  const waits = Array.from({ length: 20 }, () => {
    const waitMs = attempt(limiter, 'a', now)
    now += waitMs
    return waitMs
  })
  const longest = 15 * minuteMs
  expect(waits.slice(0, 5)).toEqual([0, 0, 0, 1000, 2000])
  expect(waits.slice(5)).toEqual(waits.slice(4, -1).map((waitMs) => Math.min(2 * waitMs, longest)))
  expect(waits.at(-1)).toBe(longest)
})

test('names are independent', () => {
  const limiter = new AttemptLimiter(1)
  for (let i = 0; i < 5; i++) limiter.count('a', 0)
  expect(limiter.waitMs('a', 0)).toBeGreaterThan(0)
  expect(limiter.waitMs('b', 0)).toBe(0)
})

test('an hour without an attempt, and success, start again; one success takes one attempt back', () => {
  const limiter = new AttemptLimiter(2)
  const fill = () => {
    for (let i = 0; i < 10; i++) limiter.count('a', 0)
  }
  fill()
  expect(limiter.waitMs('a', 60 * minuteMs - 1)).toBe(0)
  limiter.count('a', 60 * minuteMs - 1)
  expect(limiter.waitMs('a', 60 * minuteMs)).toBeGreaterThan(0)
  expect(limiter.waitMs('a', 121 * minuteMs)).toBe(0)
  limiter.count('a', 121 * minuteMs)
  expect(limiter.waitMs('a', 121 * minuteMs)).toBe(0)

  fill()
  limiter.forget('a')
  expect(limiter.waitMs('a', 0)).toBe(0)

  for (let i = 0; i < 2; i++) limiter.count('b', 0)
  expect(limiter.waitMs('b', 0)).toBe(1000)
  limiter.uncount('b')
  expect(limiter.waitMs('b', 0)).toBe(0)
  for (let i = 0; i < 5; i++) limiter.uncount('b')
  limiter.uncount('unknown')
  for (let i = 0; i < 2; i++) limiter.count('b', 0)
  expect(limiter.waitMs('b', 0)).toBe(1000)
})

test('a clock that steps back never makes anyone wait for longer than the delay and the step', () => {
  const limiter = new AttemptLimiter(0)
  limiter.count('a', 10_000)
  expect(limiter.waitMs('a', 9000)).toBe(3000)
})

test('the names it knows are bounded: the least recently used is forgotten', () => {
  const limiter = new AttemptLimiter(0, 3)
  for (const name of ['a', 'b', 'c']) limiter.count(name, 0)
  limiter.count('a', 0)
  limiter.count('d', 0)
  expect(['a', 'b', 'c', 'd'].map((name) => limiter.waitMs(name, 0) > 0)).toEqual([true, false, true, true])
})
