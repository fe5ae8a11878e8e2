import { expect, test } from 'bun:test'
import { findLongSleeps } from './sleeps.ts'

test.each([
  'await Bun.sleep(51)',
  'await Bun.sleep(\n  2_500\n)',
  'await sleep(100)',
  'setTimeout(() => leaving.abort(), 300)',
  'setTimeout(resolve, 1_000)',
])('%j is a long sleep', (text) => {
  expect(findLongSleeps('test/some.test.ts', text)).toHaveLength(1)
})

test.each([
  'await Bun.sleep(50)',
  'await Bun.sleep(everyMs)',
  'setTimeout(resolve, 1)',
  'virtual.sleepers(900)',
])('%j is not', (text) => {
  expect(findLongSleeps('test/some.test.ts', text)).toEqual([])
})
