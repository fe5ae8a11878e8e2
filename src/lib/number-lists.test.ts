import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { NumberList, parseWithNumberLists } from './number-lists.ts'

/** With every list of numbers parsed. */
function parseFully(text: string): unknown {
  return JSON.parse(
    JSON.stringify(parseWithNumberLists(text, 1000), (_, value) =>
      value instanceof NumberList ? JSON.parse(value.text) : value,
    ),
  )
}

describe('JSON with lists of numbers', () => {
  test('keeps the text of each list', () => {
    const text = '{"data": [{"embedding": [ 0.10, -2e-5,3 ], "index": 0}], "total": 3}'
    expect(parseWithNumberLists(text, 100)).toEqual({
      data: [{ embedding: new NumberList('[ 0.10, -2e-5,3 ]'), index: 0 }],
      total: 3,
    })
  })

  test('a list in a string is text', () => {
    expect(parseWithNumberLists('{"a": "[1,2]", "\\"[3]": [4]}', 100)).toEqual({
      a: '[1,2]',
      '"[3]': new NumberList('[4]'),
    })
  })

  test('a list of anything else is parsed', () => {
    expect(parseWithNumberLists('[[], [1, "2"], [null], [true]]', 100)).toEqual([
      [],
      [1, '2'],
      [null],
      [true],
    ])
  })

  test('invalid JSON and too many containers are errors', () => {
    for (const text of ['{"a": [1,2}', '[1,2', '{"a" [1]}', '"[1]'])
      expect(() => parseWithNumberLists(text, 100)).toThrow('not valid JSON')
    expect(() => parseWithNumberLists('[[[[]]]]', 2)).toThrow()
  })

  test('reads every JSON value as JSON.parse does', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })),
        (json, numbers) => {
          const text = `{"value":${json},"numbers":${JSON.stringify(numbers)}}`
          fc.pre(!text.includes('__proto__'))
          expect(parseFully(text)).toEqual(JSON.parse(text))
        },
      ),
    )
  })
})
