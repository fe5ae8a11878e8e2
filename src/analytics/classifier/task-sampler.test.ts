import { expect, test } from 'bun:test'
import { TaskSampler } from './task-sampler.ts'

test('every request of a quiet process is chosen, and stands for itself', () => {
  const sampler = new TaskSampler()
  const weights = Array.from({ length: 500 }, (_, index) => sampler.choose(`gen-${index}`, 1, index * 1000))
  expect(new Set(weights)).toEqual(new Set([1]))
})

test('one in several is chosen by its id, with the weight of all of them', () => {
  const sampler = new TaskSampler()
  for (let index = 0; index < 300; index++) {
    const id = `gen-${index}`
    const weight = sampler.choose(id, 3, index * 1000)
    expect([id, weight]).toEqual([id, Bun.hash.crc32(id) % 3 === 0 ? 3 : null])
  }
  expect(sampler.choose('gen-0', 0, 0)).toBeNull()
})

test('a busy process chooses a bounded number, whose weights add up to all requests', () => {
  const sampler = new TaskSampler()
  const requests = 60_000
  const weights = Array.from({ length: requests }, (_, index) => sampler.choose(`gen-${index}`, 1, index / 6))
  const chosen = weights.filter((weight) => weight !== null)
  expect(chosen.length).toBeLessThanOrEqual(100 + 10 * 4 + 1)
  const total = chosen.reduce((sum, weight) => sum + weight, 0)
  expect(total).toBeGreaterThan(requests - 6000 / 4 - 1)
  expect(total).toBeLessThanOrEqual(requests)
})
