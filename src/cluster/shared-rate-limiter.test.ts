import { describe, expect, test } from 'bun:test'
import { MemoryCluster, SharedMemory } from './memory.ts'
import { SharedRateLimiter } from './shared-rate-limiter.ts'

const at = 1_800_000_000_000

function createLimiters() {
  const memory = new SharedMemory()
  return [0, 1].map(() => new SharedRateLimiter({ cluster: new MemoryCluster(memory), liveNodes: () => 2 }))
}

describe('a limit that nodes count together', () => {
  test.each([1, 10, 1000, 20_000, 100_000])(
    'R16 %d a minute is never exceeded, and at most 1/128 is unused',
    async (limit) => {
      const [a, b] = createLimiters()
      // The first node stops early, with what is left of its block.
      let admitted = (await a!.tryConsume('key', limit, at)) ? 1 : 0
      for (let count = 0; count < limit; count++) if (await b!.tryConsume('key', limit, at)) admitted++
      expect(admitted).toBeLessThanOrEqual(limit)
      expect(admitted).toBeGreaterThanOrEqual(limit <= 10_000 ? limit : Math.ceil(limit * (1 - 1 / 128)))
    },
  )

  test('requests at the same time share a block, and the next window begins anew', async () => {
    const [a] = createLimiters()
    const consume = (now: number) =>
      Promise.all(Array.from({ length: 500 }, () => a!.tryConsume('key', 1_000_000, now)))
    expect((await consume(at)).every(Boolean)).toBe(true)
    expect((await consume(at + 60_000)).every(Boolean)).toBe(true)
    await expect(a!.consume('other', 0, at, 'At most none.')).rejects.toThrow('At most none.')
  })
})
