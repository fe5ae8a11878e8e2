import { describe, expect, spyOn, test } from 'bun:test'
import { LoadingCache } from './loading-cache.ts'
import { RevisionReader } from './revision-reader.ts'

function createCountingCache(freshMs = 60_000, staleMs = 60_000) {
  const state = { revision: 1, reads: 0, loads: 0, value: 'first' as string | undefined }
  const changes = { count: 0 }
  const down = { revision: false, value: false }
  let delay = Promise.resolve()
  const revisions = new RevisionReader({
    freshMs,
    changes,
    read: async () => {
      state.reads++
      if (down.revision) throw new Error('away')
      return state.revision
    },
  })
  const cache = new LoadingCache<string, string | undefined>({
    revisions,
    staleMs,
    load: async () => {
      state.loads++
      if (down.value) throw new Error('away')
      const loaded = state.value
      await delay
      return loaded
    },
    maxEntries: 2,
    maxMissing: 2,
  })
  const changeElsewhere = (next: string | undefined) => {
    state.value = next
    state.revision++
  }
  return {
    cache,
    state,
    changes,
    down,
    get: async (key = 'k') => cache.get(key, key),
    changeElsewhere,
    change: (next: string | undefined) => {
      changeElsewhere(next)
      changes.count++
    },
    delayUntil: (until: Promise<void>) => {
      delay = until
    },
  }
}

describe('LoadingCache', () => {
  test('loads once, also for concurrent lookups', async () => {
    const { get, state } = createCountingCache()
    expect(await Promise.all([get(), get(), get()])).toEqual(['first', 'first', 'first'])
    await get()
    expect(state).toMatchObject({ loads: 1, reads: 1 })
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

  test('R26 a change by another process is visible with the next reading of the revision', async () => {
    const { get, changeElsewhere } = createCountingCache(0)
    await get()
    changeElsewhere('second')
    expect(await get()).toBe('second')
    const patient = createCountingCache()
    await patient.get()
    patient.changeElsewhere('second')
    expect(await patient.get()).toBe('first')
  })

  test('R26 a value is not valid for a revision that began while it was loaded', async () => {
    const { get, changeElsewhere, delayUntil } = createCountingCache(0)
    const { promise, resolve } = Promise.withResolvers<void>()
    delayUntil(promise)
    const slow = get()
    await Bun.sleep(0)
    changeElsewhere('second')
    const next = get()
    resolve()
    expect(await slow).toBe('first')
    expect(await next).toBe('second')
    expect(await get()).toBe('second')
  })

  test('while the revision stays the same, values are not loaded again', async () => {
    const { get, state, changes } = createCountingCache(0)
    for (const key of ['a', 'b', 'a', 'b']) await get(key)
    expect(state).toMatchObject({ loads: 2, reads: 4 })
    changes.count++
    await get('a')
    expect(state).toMatchObject({ loads: 2, reads: 5 })
  })

  test('R26 a revision that was lost and counted again does not make an old value valid', async () => {
    const { get, state, changeElsewhere } = createCountingCache(0)
    await get('idle')
    state.revision--
    await get('busy')
    changeElsewhere('second')
    expect(await get('idle')).toBe('second')
  })

  test('R26 S8 a missing value is loaded once, until the revision changes or this process changes something', async () => {
    const { get, cache, state, change, changeElsewhere } = createCountingCache(0)
    const current = createCountingCache()
    for (const { get, state } of [createCountingCache(), current]) {
      state.value = undefined
      expect([await get(), await get(), state.loads]).toEqual([undefined, undefined, 1])
    }
    current.change('created')
    expect(await current.get()).toBe('created')
    state.value = undefined
    await get()
    changeElsewhere('created elsewhere')
    expect(await get()).toBe('created elsewhere')
    change(undefined)
    expect([await get(), await cache.get('k', 'k')]).toEqual([undefined, undefined])
  })

  test('S8 a missing value is not served while the revision cannot be read', async () => {
    const { get, state, down } = createCountingCache(0)
    state.value = undefined
    await get()
    down.revision = true
    expect(get()).rejects.toThrow('away')
  })

  test('S13 remembers a bounded number of missing values', async () => {
    const { get, state } = createCountingCache()
    state.value = undefined
    for (const key of ['a', 'b', 'c', 'c', 'a']) await get(key)
    expect(state.loads).toBe(4)
  })

  test('getCurrent loads every time, except a value that is missing', async () => {
    const { cache, state, change } = createCountingCache()
    const load = async () => {
      state.loads++
      return state.value
    }
    const lookUp = () => cache.getCurrent('k', load)
    expect([await lookUp(), await lookUp(), state.loads]).toEqual(['first', 'first', 2])
    change(undefined)
    // The first has no reading of the revision from before its load.
    for (let lookup = 0; lookup < 4; lookup++) expect(await lookUp()).toBeUndefined()
    expect(state.loads).toBe(4)
    change('second')
    expect(await lookUp()).toBe('second')
  })

  test('S13 evicts the oldest entry', async () => {
    const { get, state } = createCountingCache()
    for (const key of ['a', 'b', 'c', 'a']) await get(key)
    expect(state.loads).toBe(4)
  })

  test('R21 the last value is served for a while if loading fails, unless this process changed it', async () => {
    for (const failing of ['revision', 'value'] as const) {
      const { get, down, change, changeElsewhere } = createCountingCache(0)
      await get()
      changeElsewhere('second')
      down[failing] = true
      expect(await get()).toBe('first')
      change('third')
      await expect(get()).rejects.toThrow('away')
    }
    const expired = createCountingCache(0, 0)
    await expired.get()
    expired.down.revision = true
    await expect(expired.get()).rejects.toThrow('away')
  })

  test('R21 a value is known for as long as its revision was confirmed, not since it was loaded', async () => {
    let passed = 0
    const start = Math.floor(performance.now())
    const clock = spyOn(performance, 'now').mockImplementation(() => start + passed)
    try {
      const { get, down } = createCountingCache(0, 60_000)
      await get('idle')
      passed = 70_000
      await get('busy')
      down.revision = true
      passed = 129_999
      expect(await get('idle')).toBe('first')
      passed = 130_000
      await expect(get('idle')).rejects.toThrow('away')
    } finally {
      clock.mockRestore()
    }
  })
})
