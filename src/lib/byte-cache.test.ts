import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ByteCache } from './byte-cache.ts'

const kept = (length: number, until = 1000) => ({ bytes: Buffer.alloc(length), at: 0, until })

describe('a cache of bytes', () => {
  test('R36 gives back what was put into it until its time is over, and then forgets it', () => {
    const cache = new ByteCache()
    cache.set('a', kept(10, 5), 1e6)
    expect(cache.get('a', 4)?.bytes.length).toBe(10)
    expect(cache.get('a', 5)).toBeUndefined()
    expect([cache.size, cache.count]).toEqual([0, 0])
  })

  test('R36 what was not asked for longest makes room', () => {
    const cache = new ByteCache()
    for (const key of ['a', 'b', 'c']) cache.set(key, kept(1000), 4000)
    cache.get('a', 0)
    cache.set('d', kept(1000), 4000)
    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key, 0) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
    ])
  })

  test('R36 what is larger than all the room takes none of it', () => {
    const cache = new ByteCache()
    cache.set('a', kept(100), 1000)
    cache.set('b', kept(2000), 1000)
    expect(cache.count).toBe(1)
    // What it was to replace is gone all the same.
    cache.set('a', kept(2000), 1000)
    expect([cache.size, cache.count]).toEqual([0, 0])
  })

  test('R36 I10 never holds more than it may, and nothing once all is expired', () => {
    const put = fc.record({ key: fc.integer({ max: 20, min: 0 }), length: fc.nat(3000), until: fc.nat(100) })
    fc.assert(
      fc.property(fc.array(put), fc.nat(100), (puts, now) => {
        const cache = new ByteCache()
        for (const { key, length, until } of puts) {
          cache.set(String(key), kept(length, until), 8000)
          expect(cache.size).toBeLessThanOrEqual(8000)
        }
        cache.evictExpired(now)
        for (let key = 0; key <= 20; key++) {
          const found = cache.get(String(key), now)
          if (found) expect(found.until).toBeGreaterThan(now)
        }
        cache.evictExpired(1000)
        expect([cache.size, cache.count]).toEqual([0, 0])
      }),
    )
  })
})
