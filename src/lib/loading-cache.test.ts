import { describe, expect, test } from 'bun:test'
import { LoadingCache } from './loading-cache.ts'

function createCountingCache(freshMs = 60_000, staleMs = 60_000) {
  let version = 0
  let loads = 0
  let value: string | undefined = 'first'
  let isDown = false
  const cache = new LoadingCache<string, string | undefined>({
    freshMs,
    staleMs,
    version: () => version,
    load: async () => {
      loads++
      if (isDown) throw new Error('away')
      return value
    },
    maxEntries: 2,
  })
  return {
    cache,
    get: async (key = 'k') => cache.get(key, key),
    change: (next: string | undefined) => {
      value = next
      version++
    },
    loads: () => loads,
    down: () => {
      isDown = true
    },
  }
}

describe('LoadingCache', () => {
  test('loads once, also for concurrent lookups', async () => {
    const { get, loads } = createCountingCache()
    expect(await Promise.all([get(), get(), get()])).toEqual(['first', 'first', 'first'])
    await get()
    expect(loads()).toBe(1)
  })

  test('a cached value is not a promise', async () => {
    const { cache, get } = createCountingCache()
    await get()
    expect(cache.get('k', 'k')).toBe('first')
  })

  test('R26 a change is visible at once, also one made during a load', async () => {
    const { get, change } = createCountingCache()
    const before = get()
    change('second')
    await before
    expect(await get()).toBe('second')
  })

  test('S8 a missing value is loaded again', async () => {
    const { get, change, loads } = createCountingCache()
    change(undefined)
    await get()
    await get()
    expect(loads()).toBe(2)
  })

  test('a value expires', async () => {
    const { get, loads } = createCountingCache(0)
    await get()
    await get()
    expect(loads()).toBe(2)
  })

  test('S13 evicts the oldest entry', async () => {
    const { get, loads } = createCountingCache()
    for (const key of ['a', 'b', 'c', 'a']) await get(key)
    expect(loads()).toBe(4)
  })

  test('R21 the last value is served for a while if loading fails, unless it changed', async () => {
    const { get, down, change } = createCountingCache(0)
    await get()
    down()
    expect(await get()).toBe('first')
    change('second')
    expect(get()).rejects.toThrow('away')
    const expired = createCountingCache(0, 0)
    await expired.get()
    expired.down()
    expect(expired.get()).rejects.toThrow('away')
  })
})
