import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { JsonCounter, maxDepth } from './json-counter.ts'
import { countJsonValues, isShallow } from './json-size.ts'

function countText(text: string): number {
  const counter = new JsonCounter()
  counter.add(text)
  return counter.valueCount
}

test('S13 a text with few brackets is shallow, wherever they are', () => {
  expect(isShallow('{"a":[1,2]}')).toBe(true)
  expect(isShallow('['.repeat(maxDepth))).toBe(true)
  expect(isShallow(`${'['.repeat(64)}${'{'.repeat(65)}`)).toBe(false)
  expect(isShallow('"['.repeat(maxDepth + 1))).toBe(false)
})

describe('the number of values in parsed JSON', () => {
  test('is that of its text', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        // Duplicate keys count in the text alone.
        const value: unknown = JSON.parse(text, (key, inner: unknown) =>
          key === '__proto__' ? undefined : inner,
        )
        expect(countJsonValues(value)).toBe(countText(JSON.stringify(value)))
      }),
    )
  })

  test.each(['[]', '{}', '1', '"a"', '[[],[]]', '{"a":{},"b":[1,2]}'])('is that of %s', (text) => {
    expect(countJsonValues(JSON.parse(text))).toBe(countText(text))
  })

  test.each(['[', '{"a":'])('S13 rejects nesting that is too deep: %s', (open) => {
    const nest = (depth: number) =>
      JSON.parse(`${open.repeat(depth)}1${(open === '[' ? ']' : '}').repeat(depth)}`)
    expect(countJsonValues(nest(maxDepth))).toBe(1 + maxDepth)
    expect(() => countJsonValues(nest(maxDepth + 1))).toThrow('nested deeper than 128 levels')
    expect(() => countJsonValues(nest(100_000))).toThrow('nested deeper than 128 levels')
  })

  test.each(['{"a":[{"__proto__":1}]}', '{"\\u005f_proto__":1}'])(
    'S14 rejects a key "__proto__": %s',
    (text) => {
      expect(() => countJsonValues(JSON.parse(text))).toThrow('__proto__')
    },
  )
})
