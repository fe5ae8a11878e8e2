import { expect, test } from 'bun:test'
import { cacheLifetimeMs, PromptHistory } from './prompt-history.ts'

const hashOf = (history: PromptHistory, texts: readonly string[]) =>
  texts.reduce((hash, text) => history.extend(hash, text), '')

test('counts what is sent again within the lifetime of the cache', () => {
  const history = new PromptHistory()
  const hash = hashOf(history, ['a', 'b'])
  const record = (now: number) => history.record(hash, { now, isWhole: false, max: 10 })
  record(0)
  record(cacheLifetimeMs)
  expect(history.find(hash, 2 * cacheLifetimeMs)).toMatchObject({ count: 2 })
  expect(history.find(hash, 2 * cacheLifetimeMs + 1)).toBeUndefined()
  record(2 * cacheLifetimeMs + 1)
  expect(history.find(hash, 2 * cacheLifetimeMs + 1)).toMatchObject({ count: 1 })
})

test('I10 remembers a bounded number, those that were sent last', () => {
  const history = new PromptHistory()
  const hashes = Array.from({ length: 1000 }, (_, n) => hashOf(history, [String(n)]))
  for (const [at, hash] of hashes.entries()) {
    history.record(hash, { now: at, isWhole: false, max: 100 })
    history.record(hashes[0] ?? '', { now: at, isWhole: true, max: 100 })
    expect(history.size).toBeLessThanOrEqual(100)
  }
  const isKnown = (hash: string | undefined) => history.find(hash ?? '', 1000) !== undefined
  expect([isKnown(hashes[0]), isKnown(hashes[1]), isKnown(hashes[999])]).toEqual([true, false, true])
  history.record(hashes[5] ?? '', { now: 1000, isWhole: false, max: 0 })
  expect(history.size).toBe(0)
})

test('depends on the order and the limits of texts, and on a secret of the process', () => {
  const history = new PromptHistory()
  const all = [['a', 'b'], ['b', 'a'], ['ab'], ['a', 'b', '']].map((texts) => hashOf(history, texts))
  expect(new Set(all).size).toBe(4)
  expect(hashOf(new PromptHistory(), ['a', 'b'])).not.toBe(hashOf(history, ['a', 'b']))
})
