import { expect, test } from 'bun:test'
import { TimeSlicer } from './time-slicer.ts'

function work(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test('work goes on until its time is up, and then waits for a turn in which others were served', async () => {
  const turns = new TimeSlicer()
  turns.runCounted(() => work(0.1))
  expect(turns.pendingYield).toBeNull()
  turns.runCounted(() => work(10))
  let served = false
  setImmediate(() => {
    served = true
  })
  await turns.pendingYield
  expect(served).toBe(true)
  expect(turns.pendingYield).toBeNull()
})

test('S13 a long row of small pieces leaves room for timers', async () => {
  const turns = new TimeSlicer()
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  const pieces = Array.from({ length: 200 }, (_, place) => place)[Symbol.iterator]()
  const slow = {
    next: () => {
      work(0.5)
      return pieces.next()
    },
  }
  const summary = await Array.fromAsync(turns.iterate(slow))
  clearInterval(timer)
  expect(summary).toHaveLength(200)
  expect(ticks).toBeGreaterThan(5)
})
