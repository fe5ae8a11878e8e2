import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { NumberList, parseWithNumberLists } from './number-lists.ts'

/** Parses a text and all of its lists of numbers. */
async function parseFully(text: string): Promise<unknown> {
  return JSON.parse(
    JSON.stringify(await parseWithNumberLists(text, 1000), (_, value) =>
      value instanceof NumberList ? JSON.parse(value.text) : value,
    ),
  )
}

describe('JSON with lists of numbers', () => {
  test('keeps the text of each list', async () => {
    const text = '{"data": [{"embedding": [ 0.10, -2e-5,3 ], "index": 0}], "total": 3}'
    expect(await parseWithNumberLists(text, 100)).toEqual({
      data: [{ embedding: new NumberList('[ 0.10, -2e-5,3 ]'), index: 0 }],
      total: 3,
    })
  })

  test('a list in a string is text', async () => {
    expect(await parseWithNumberLists('{"a": "[1,2]", "\\"[3]": [4]}', 100)).toEqual({
      a: '[1,2]',
      '"[3]': new NumberList('[4]'),
    })
  })

  test('a list of anything else is parsed', async () => {
    expect(await parseWithNumberLists('[[], [1, "2"], [null], [true]]', 100)).toEqual([
      [],
      [1, '2'],
      [null],
      [true],
    ])
  })

  test('S13 invalid JSON and too many values or lists are errors', async () => {
    for (const text of ['{"a": [1,2}', '[1,2', '{"a" [1]}', '"[1]'])
      await expect(parseWithNumberLists(text, 100)).rejects.toThrow('not valid JSON')
    await expect(parseWithNumberLists('[[[[]]]]', 2)).rejects.toThrow('more than 2 JSON values')
    await expect(parseWithNumberLists('[[1],[2],[3]]', 2)).rejects.toThrow('more than 2 lists of numbers')
  })

  test('the numbers of a list are not counted', async () => {
    const list = `[${'0.5,'.repeat(100_000)}1]`
    expect(await parseWithNumberLists(`{"data":[${list}]}`, 1000)).toEqual({ data: [new NumberList(list)] })
  })

  test('reads every JSON value as JSON.parse does', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.json(),
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })),
        async (json, numbers) => {
          const text = `{"value":${json},"numbers":${JSON.stringify(numbers)}}`
          fc.pre(!text.includes('__proto__'))
          expect(await parseFully(text)).toEqual(JSON.parse(text))
        },
      ),
    )
  })
})
