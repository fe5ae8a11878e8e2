import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { measureLoopDelay } from '../../../test/support/loop-delay.ts'
import { JsonError } from './json-error.ts'
import { encodeJsonChunks, estimateJsonLength, parseCountedLongJson, parseLongJson } from './long-json.ts'

const long = 'ab"c\\d\n\u{1f600}é'.repeat(20_000)

describe('JSON with long strings', () => {
  test('is read as it is written', async () => {
    const value = { a: [long, 'short', { k: 'x'.repeat(200_000) }], b: null, c: 1.5 }
    expect(await parseLongJson(JSON.stringify(value), 100)).toEqual(value)
    expect([...encodeJsonChunks(value)].join('')).toBe(JSON.stringify(value))
    expect(Math.max(...[...encodeJsonChunks(value)].map((chunk) => chunk.length))).toBeLessThan(300_000)
  })

  test('S13 short items of a long list are joined into a few chunks', () => {
    const value = { list: Array.from({ length: 50_000 }, (_, at) => ({ at, bytes: [1, 2] })) }
    const chunks = [...encodeJsonChunks(value)]
    expect(chunks.join('')).toBe(JSON.stringify(value))
    expect(chunks.length).toBeLessThan(100)
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(200_000)
    expect([...encodeJsonChunks([long, undefined, long])].join('')).toBe(
      JSON.stringify([long, undefined, long]),
    )
  })

  test('of any shape', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        // S14: such keys are left out.
        fc.pre(!JSON.stringify(value).includes('__proto__'))
        const padded = { value, pad: 'x'.repeat(200_000) }
        expect(await parseLongJson(JSON.stringify(padded), 10_000)).toEqual(
          JSON.parse(JSON.stringify(padded)),
        )
        expect(JSON.parse([...encodeJsonChunks(padded)].join(''))).toEqual(JSON.parse(JSON.stringify(padded)))
      }),
      { numRuns: 50 },
    )
  })

  test('S13 is rejected if it is invalid or has too many values', async () => {
    const broken = [
      `{"a":"${'x'.repeat(200_000)}`,
      `{"a":"${'x'.repeat(200_000)}\\u12"}`,
      `["${'x'.repeat(200_000)}"`,
      `{"${'x'.repeat(200_000)}":1}`,
    ]
    for (const text of broken) await expect(parseLongJson(text, 100)).rejects.toThrow(JsonError)
    await expect(parseLongJson(`[${'[],'.repeat(200)}[]]`, 100)).rejects.toThrow('more than 100 JSON values')
    const members = Array.from({ length: 200 }, (_, at) => `"k${at}":1`).join()
    await expect(parseLongJson(`{"pad":"${long}",${members}}`, 100)).rejects.toThrow(
      'more than 100 JSON values',
    )
  })

  test('S13 with escapes is decoded in chunks that split none of them', async () => {
    for (let offset = 0; offset < 10; offset++) {
      const text = `{"a":"${'x'.repeat(256 * 1024 - offset)}${'\\u00e9\\ud83d\\ude00\\n'.repeat(20_000)}${'\\\\'.repeat(300_000)}"}`
      expect(await parseLongJson(text, 100)).toEqual(JSON.parse(text))
    }
  })

  test('that was counted is read alike, and rejected where a string has a control character', async () => {
    const value = { a: [long, { k: 'x'.repeat(200_000) }], b: null }
    expect(await parseCountedLongJson(JSON.stringify(value))).toEqual(value)
    for (const control of ['\n', '\0']) {
      const text = `{"a":"${'x'.repeat(300_000)}${control}"}`
      await expect(parseCountedLongJson(text)).rejects.toThrow(JsonError)
    }
  })

  test('S13 with megabytes of escapes does not hold the event loop', async () => {
    const text = JSON.stringify({ a: 'line "x"\n'.repeat(1_500_000) })
    const whole = await measureLoopDelay(0, () => JSON.parse(text))
    const sliced = await measureLoopDelay(0, () => parseLongJson(text, 100))
    expect(sliced).toBeLessThan(whole * 0.8)
  })

  test('has about the estimated length', () => {
    const value = { a: [1, 'two', { three: null }], b: 'x'.repeat(1000) }
    expect(estimateJsonLength(value)).toBeWithin(1000, 1200)
  })

  test('S13 is not measured beyond what matters', () => {
    let reads = 0
    const entry = () => ({
      get token() {
        reads++
        return 'abc'
      },
    })
    const value = { list: Array.from({ length: 100_000 }, entry) }
    expect(estimateJsonLength(value, 1000)).toBeGreaterThan(1000)
    expect(reads).toBeLessThan(100)
  })
})

test('a long text is rewritten as a whole when the rest of it shows the need', async () => {
  const long = 'a'.repeat(200_000)
  const rewrite = (text: string, skeleton: string) =>
    skeleton.includes('"error"') ? text.replaceAll('key', '***') : text
  const parse = (value: object) => parseLongJson(JSON.stringify(value), 100, rewrite)
  expect(await parse({ error: { message: `${long} key` } })).toEqual({ error: { message: `${long} ***` } })
  expect(await parse({ data: `${long} key` })).toEqual({ data: `${long} key` })
})
