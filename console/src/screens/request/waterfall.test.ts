import { expect, test } from 'bun:test'
import { waterfallOf } from './waterfall.ts'

const attempt = {
  model: 'a/b',
  provider: 'Alpha',
  tag: 'alpha',
  status: 503,
  outcome: 'overloaded',
  provider_code: null,
  message: null,
}

test('bars share one scale', () => {
  const bars = waterfallOf({
    stages: [
      { name: 'gateway', started: 0, duration: 10 },
      { name: 'reply', started: 10, duration: 90 },
    ],
    attempts: [{ ...attempt, started: 10, duration: 40 }],
  })
  expect(bars.map(({ left, width }) => [left, width])).toEqual([
    [0, 10],
    [10, 90],
    [10, 40],
  ])
  expect(bars[2]).toMatchObject({
    label: 'Attempt 1: Alpha',
    kind: 'failure',
    detail: 'a/b, overloaded, HTTP 503',
  })
})

test('a bar can be seen and stays inside, also without a duration', () => {
  const bars = waterfallOf({
    stages: [{ name: 'reply', started: 0, duration: 100 }],
    attempts: [
      { ...attempt, started: 100, duration: 0 },
      { ...attempt, started: null, duration: null },
    ],
  })
  for (const { left, width } of bars) {
    expect(width).toBeGreaterThan(0)
    expect(left + width).toBeLessThanOrEqual(100)
  }
})

test('a request that took no time has bars', () => {
  expect(waterfallOf({ stages: [{ name: 'gateway', started: 0, duration: 0 }], attempts: [] })).toHaveLength(
    1,
  )
})
