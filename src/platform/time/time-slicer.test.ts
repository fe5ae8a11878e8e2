import { expect, test } from 'bun:test'
import { runInSlices, TimeSlicer } from './time-slicer.ts'

function work(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test('work runs until its slice is used up, and then waits for the next turn', async () => {
  let now = 0
  const slicer = new TimeSlicer(() => now)
  const workFor = (ms: number) => {
    now += ms
  }
  slicer.runCounted(() => workFor(0.1))
  expect(slicer.pendingYield).toBeNull()
  slicer.runCounted(() => workFor(10))
  let served = false
  setImmediate(() => {
    served = true
  })
  await slicer.pendingYield
  expect(served).toBe(true)
  expect(slicer.pendingYield).toBeNull()
})

test('S13 timers run during a long iteration', async () => {
  const slicer = new TimeSlicer()
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  const items = Array.from({ length: 200 }, (_, index) => index)[Symbol.iterator]()
  const slow = {
    next: () => {
      work(0.5)
      return items.next()
    },
  }
  const results = await Array.fromAsync(slicer.iterate(slow))
  clearInterval(timer)
  expect(results).toHaveLength(200)
  expect(ticks).toBeGreaterThan(5)
})

test('S13 timers run during the steps of a generator, which resolves to its result', async () => {
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  function* addUp(): Generator<undefined, number> {
    let sum = 0
    for (let index = 0; index < 200; index++) {
      work(0.5)
      sum += index
      yield
    }
    return sum
  }
  const sum = await runInSlices(addUp())
  clearInterval(timer)
  expect(sum).toBe(19_900)
  expect(ticks).toBeGreaterThan(5)
})
