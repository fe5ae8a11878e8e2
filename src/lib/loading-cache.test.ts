import { describe, expect, test } from 'bun:test'
import { LoadingCache } from './loading-cache.ts'

function counting(freshMs = 60_000, staleMs = 60_000) {
  let version = 0
  let loads = 0
  let value: string | undefined = 'first'
  let isDown = false
  const memo = new LoadingCache<string, string | undefined>({
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
    memo,
    get: async (key = 'k') => memo.get(key, key),
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

describe('a memo', () => {
  test('asks once, also when many ask at the same time', async () => {
    const { get, loads } = counting()
    expect(await Promise.all([get(), get(), get()])).toEqual(['first', 'first', 'first'])
    await get()
    expect(loads()).toBe(1)
  })

  test('a remembered value is no promise', async () => {
    const { memo, get } = counting()
    await get()
    expect(memo.get('k', 'k')).toBe('first')
  })

  test('R26 a change is seen at once, also one made while the value was being loaded', async () => {
    const { get, change } = counting()
    const before = get()
    change('second')
    await before
    expect(await get()).toBe('second')
  })

  test('S8 what does not exist is asked for again', async () => {
    const { get, change, loads } = counting()
    change(undefined)
    await get()
    await get()
    expect(loads()).toBe(2)
  })

  test('is believed for its time only', async () => {
    const { get, loads } = counting(0)
    await get()
    await get()
    expect(loads()).toBe(2)
  })

  test('S13 forgets the oldest', async () => {
    const { get, loads } = counting()
    for (const key of ['a', 'b', 'c', 'a']) await get(key)
    expect(loads()).toBe(4)
  })

  test('R21 what was known last counts for a while when it cannot be loaded again, unless it changed', async () => {
    const { get, down, change } = counting(0)
    await get()
    down()
    expect(await get()).toBe('first')
    change('second')
    expect(get()).rejects.toThrow('away')
    const impatient = counting(0, 0)
    await impatient.get()
    impatient.down()
    expect(impatient.get()).rejects.toThrow('away')
  })
})
