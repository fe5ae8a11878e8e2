import { expect, test } from 'bun:test'
import { BoundedQueue, QueueFullError } from './bounded-queue.ts'

/** Work that ends when the test says so. */
function createWork() {
  const begun: number[] = []
  const ends: PromiseWithResolvers<number>[] = []
  const start = (queue: BoundedQueue, n: number) => {
    const end = Promise.withResolvers<number>()
    ends[n] = end
    return queue.run(() => {
      begun.push(n)
      return end.promise
    })
  }
  const finish = async (n: number) => {
    ends[n]?.resolve(n)
    await Bun.sleep(0)
  }
  return { begun, ends, start, finish }
}

test('a few run at a time, others wait in their order, and beyond that they are refused', async () => {
  const queue = new BoundedQueue(2, 2)
  const { begun, start, finish } = createWork()
  const results = [0, 1, 2, 3].map((n) => start(queue, n))
  expect(begun).toEqual([0, 1])
  await expect(start(queue, 4)).rejects.toThrow(QueueFullError)
  await finish(1)
  expect(begun).toEqual([0, 1, 2])
  // A place to wait is free again.
  results.push(start(queue, 5))
  await finish(0)
  await finish(2)
  expect(begun).toEqual([0, 1, 2, 3, 5])
  await finish(3)
  await finish(5)
  expect(await Promise.all(results)).toEqual([0, 1, 2, 3, 5])
})

test('work that fails, or throws at once, frees its place', async () => {
  const queue = new BoundedQueue(1, 5)
  const failures = [
    queue.run(() => Promise.reject(new Error('failed'))),
    queue.run(() => {
      throw new Error('thrown')
    }),
  ]
  const settled = await Promise.allSettled(failures)
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await queue.run(async () => 'next')).toBe('next')
})

test('it is idle when nothing runs or waits, whatever became of it', async () => {
  const queue = new BoundedQueue(1, 5)
  await queue.idle()
  const { start, ends, finish } = createWork()
  const results = Promise.allSettled([start(queue, 0), start(queue, 1)])
  let isIdle = false
  const idle = queue.idle().then(() => {
    isIdle = true
  })
  ends[0]?.reject(new Error('failed'))
  await Bun.sleep(0)
  expect(isIdle).toBe(false)
  await finish(1)
  await Promise.all([idle, results])
  expect(isIdle).toBe(true)
})
