import { expect, test } from 'bun:test'
import { Turns } from './turns.ts'

function work(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test('work goes on until its time is up, and then waits for a turn in which others were served', async () => {
  const turns = new Turns()
  turns.run(() => work(0.1))
  expect(turns.next).toBeNull()
  turns.run(() => work(10))
  let served = false
  setImmediate(() => {
    served = true
  })
  await turns.next
  expect(served).toBe(true)
  expect(turns.next).toBeNull()
})

test('S13 a long row of small pieces leaves room for timers', async () => {
  const turns = new Turns()
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  const pieces = Array.from({ length: 200 }, (_, place) => place)[Symbol.iterator]()
  const slow = {
    next: () => {
      work(0.5)
      return pieces.next()
    },
  }
  const seen = await Array.fromAsync(turns.each(slow))
  clearInterval(timer)
  expect(seen).toHaveLength(200)
  expect(ticks).toBeGreaterThan(5)
})
