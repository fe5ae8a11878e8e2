import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { spliceJson } from './json-splice.ts'

const long = 'x "quoted" \\ \n'.repeat(3000)

describe('splicing JSON', () => {
  test('copies the text of unchanged members', () => {
    const text = `{ "model" : "a", "big":\t${JSON.stringify(long)}, "n": 1.0e2, "deep": {"a":[1,{"b":"}"}]} }`
    const before = JSON.parse(text)
    const after = { ...before, model: 'b', added: [1], gone: undefined }
    const spliced = spliceJson(text, before, after)
    expect(JSON.parse(spliced)).toEqual(JSON.parse(JSON.stringify(after)))
    expect(spliced).toContain('"n": 1.0e2')
  })

  test('an escaped or duplicate name is serialized again', () => {
    for (const text of [
      `{"mod\\u0065l":"a","big":${JSON.stringify(long)}}`,
      `{"model":"a","model":"b","big":${JSON.stringify(long)}}`,
    ]) {
      const before = JSON.parse(text)
      expect(JSON.parse(spliceJson(text, before, { ...before, extra: 1 }))).toEqual({ ...before, extra: 1 })
    }
  })

  test('any object, any change, any spacing', () => {
    const member = fc.jsonValue({ maxDepth: 3 })
    const name = fc.string().filter((text) => text !== '__proto__')
    fc.assert(
      fc.property(
        fc.dictionary(name, member),
        fc.dictionary(name, member),
        fc.constantFrom(0, 2),
        (one, two, indent) => {
          const text = JSON.stringify({ ...one, pad: long }, null, indent)
          const before = JSON.parse(text)
          const after = { ...before, ...two }
          expect(JSON.parse(spliceJson(text, before, after))).toEqual(JSON.parse(JSON.stringify(after)))
        },
      ),
      { numRuns: 200 },
    )
  })
})
