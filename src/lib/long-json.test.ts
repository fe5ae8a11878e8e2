import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { JsonError } from './json-error.ts'
import { jsonLength, jsonPieces, parseLong } from './long-json.ts'

const long = 'ab"c\\d\n\u{1f600}é'.repeat(20_000)

describe('JSON with long strings', () => {
  test('is read as it is written', () => {
    const value = { a: [long, 'short', { k: 'x'.repeat(200_000) }], b: null, c: 1.5 }
    expect(parseLong(JSON.stringify(value), 100)).toEqual(value)
    expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value))
    expect(Math.max(...[...jsonPieces(value)].map((piece) => piece.length))).toBeLessThan(300_000)
  })

  test('of any shape', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const padded = { value, pad: 'x'.repeat(200_000) }
        expect(parseLong(JSON.stringify(padded), 10_000)).toEqual(JSON.parse(JSON.stringify(padded)))
        expect(JSON.parse([...jsonPieces(padded)].join(''))).toEqual(JSON.parse(JSON.stringify(padded)))
      }),
      { numRuns: 50 },
    )
  })

  test('S13 is not read where it is broken, or made of too many objects and lists', () => {
    const broken = [
      `{"a":"${'x'.repeat(200_000)}`,
      `{"a":"${'x'.repeat(200_000)}\\u12"}`,
      `["${'x'.repeat(200_000)}"`,
    ]
    for (const text of broken) expect(() => parseLong(text, 100)).toThrow(JsonError)
    expect(() => parseLong(`{"${'x'.repeat(200_000)}":1}`, 100)).toThrow(JsonError)
    expect(() => parseLong(`[${'[],'.repeat(200)}[]]`, 100)).toThrow('more than 100 objects and lists')
  })

  test('has about the length that is said', () => {
    const value = { a: [1, 'two', { three: null }], b: 'x'.repeat(1000) }
    expect(jsonLength(value)).toBeWithin(1000, 1200)
  })
})
