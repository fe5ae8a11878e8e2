import { describe, expect, test } from 'bun:test'
import { assertJsonBounds, assertJsonBoundsInSlices } from './json-bounds.ts'
import { JsonCounter } from './json-counter.ts'

const cases: [string, string, string][] = [
  ['members of one object', `{${list(20_000, (at) => `"k${at}":1`)}}`, 'JSON values'],
  ['empty objects', `[${'{},'.repeat(100_000)}{}]`, 'JSON values'],
  ['different objects', `[${list(60_000, (at) => `{"k${at}":1}`)}]`, 'combinations of names'],
  ['levels of a short text', `${'['.repeat(200)}${']'.repeat(200)}`, '128 levels'],
  ['levels of a long text', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, '128 levels'],
]

function list(length: number, entry: (at: number) => string): string {
  return Array.from({ length }, (_, at) => entry(at)).join()
}

describe('the bounds of JSON from outside', () => {
  test.each(cases)('S13 reject too many %s', async (_, text, problem) => {
    const maxValues = problem === 'JSON values' ? 10_000 : 1_000_000
    expect(() => assertJsonBounds(text, maxValues)).toThrow(problem)
    await expect(assertJsonBoundsInSlices(text, maxValues)).rejects.toThrow(problem)
  })

  test('accept the logprobs of a long reply', async () => {
    const text = `[${list(50_000, (at) => `{"token":"t${at}","logprob":-0.5,"bytes":[1,2],"top_logprobs":[]}`)}]`
    assertJsonBounds(text, 1_000_000)
    await assertJsonBoundsInSlices(text, 1_000_000)
  })

  test('a text that is too short to exceed them is not counted', () => {
    const { add } = JsonCounter.prototype
    let calls = 0
    JsonCounter.prototype.add = function (text) {
      calls++
      return add.call(this, text)
    }
    try {
      assertJsonBounds(`{"id":"c","choices":[{"message":{"content":"${'x'.repeat(100_000)}"}}]}`, 1_000_000)
    } finally {
      JsonCounter.prototype.add = add
    }
    expect(calls).toBe(0)
  })
})
