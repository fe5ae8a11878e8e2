import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ByteCache } from './byte-cache.ts'

const entryOf = (length: number, until = 1000) => ({ bytes: Buffer.alloc(length), at: 0, until })

describe('ByteCache', () => {
  test('R36 returns an entry until it expires, and then removes it', () => {
    const cache = new ByteCache()
    cache.set('a', entryOf(10, 5), 1e6)
    expect(cache.get('a', 4)?.bytes.length).toBe(10)
    expect(cache.get('a', 5)).toBeUndefined()
    expect([cache.size, cache.count]).toEqual([0, 0])
  })

  test('R36 evicts the least recently used entry', () => {
    const cache = new ByteCache()
    for (const key of ['a', 'b', 'c']) cache.set(key, entryOf(1000), 4000)
    cache.get('a', 0)
    cache.set('d', entryOf(1000), 4000)
    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key, 0) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
    ])
  })

  test('R36 does not store an entry larger than the cache', () => {
    const cache = new ByteCache()
    cache.set('a', entryOf(100), 1000)
    cache.set('b', entryOf(2000), 1000)
    expect(cache.count).toBe(1)
    // The entry it would have replaced is removed.
    cache.set('a', entryOf(2000), 1000)
    expect([cache.size, cache.count]).toEqual([0, 0])
  })

  test('R36 I10 never exceeds its size, and is empty once everything has expired', () => {
    const put = fc.record({ key: fc.integer({ max: 20, min: 0 }), length: fc.nat(3000), until: fc.nat(100) })
    fc.assert(
      fc.property(fc.array(put), fc.nat(100), (puts, now) => {
        const cache = new ByteCache()
        for (const { key, length, until } of puts) {
          cache.set(String(key), entryOf(length, until), 8000)
          expect(cache.size).toBeLessThanOrEqual(8000)
        }
        cache.evictExpired(now)
        for (let key = 0; key <= 20; key++) {
          const entry = cache.get(String(key), now)
          if (entry) expect(entry.until).toBeGreaterThan(now)
        }
        cache.evictExpired(1000)
        expect([cache.size, cache.count]).toEqual([0, 0])
      }),
    )
  })
})
