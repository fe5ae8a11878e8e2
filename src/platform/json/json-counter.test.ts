import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseJson } from './json.ts'
import { JsonCounter } from './json-counter.ts'
import { countMembers, findDuplicateKey } from './json-duplicates.ts'
import { spliceJson } from './json-splice.ts'

function count(texts: string[]) {
  const counter = new JsonCounter()
  for (const text of texts) counter.add(text)
  return { values: counter.valueCount, members: counter.memberCount }
}

describe('counting JSON', () => {
  test('S13 does not depend on the chunk boundaries', () => {
    const value = fc.jsonValue({ maxDepth: 4, stringUnit: fc.constantFrom('"', '\\', '{', ':', ',', 'a') })
    fc.assert(
      fc.property(value, fc.array(fc.nat(200), { maxLength: 6 }), (json, cuts) => {
        const text = JSON.stringify({ json })
        const offsets = [0, ...cuts.map((cut) => cut % text.length).sort((a, b) => a - b), text.length]
        const chunks = offsets.slice(1).map((end, index) => text.slice(offsets[index], end))
        expect(count(chunks)).toEqual(count([text]))
        expect(count(chunks).members).toBe(countMembers(JSON.parse(text)))
      }),
    )
  })

  test('S13 stops at too many values or levels', () => {
    expect(() => new JsonCounter({ values: 1000 }).add(`[${'1,'.repeat(1000)}`)).toThrow(
      'more than 1000 JSON values',
    )
    expect(() => new JsonCounter({ values: 1000 }).add('{},'.repeat(600))).toThrow(
      'more than 1000 JSON values',
    )
    expect(() => new JsonCounter().add('['.repeat(129))).toThrow('nested deeper than 128 levels')
  })

  test('S13 stops at too many combinations of names, however they arrive', () => {
    const distinct = Array.from({ length: 300 }, (_, at) => `{"name${at}":1}`).join()
    const orders = Array.from(
      { length: 400 },
      (_, at) => `{"${at % 20}":1,"${Math.floor(at / 20)}":2}`,
    ).join()
    const repeated = Array.from({ length: 1000 }, (_, at) => `{"token":${at},"bytes":[1]}`).join()
    for (const size of [1, 3, 10_000]) {
      const countShapes = (list: string) => {
        const counter = new JsonCounter({ shapes: 250 })
        for (let at = 0; at < list.length; at += size) counter.add(list.slice(at, at + size))
      }
      expect(() => countShapes(`[${distinct}]`)).toThrow('more than 250 combinations of names')
      expect(() => countShapes(`[${orders}]`)).toThrow('more than 250 combinations of names')
      countShapes(`[${repeated}]`)
    }
  })
})

describe('a duplicate key', () => {
  test.each([
    ['{"a":1,"b":2,"a":3}', 'a'],
    ['{"list":[{"x":1},{"y":{"k":1,"\\u006b":2}}]}', 'list.1.y.k'],
    ['{"a":{"b":"a"},"c":["a","a"],"":1,"":2}', ''],
  ])('is named: %s', (text, key) => {
    expect(findDuplicateKey(text)).toBe(key)
    expect(() => parseJson(text)).toThrow(`the duplicate key "${key}"`)
  })

  test('is not reported in valid JSON without one', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        expect(findDuplicateKey(JSON.stringify(value))).toBeNull()
      }),
    )
  })

  test('is not copied to an upstream, which may read the other one', () => {
    const text = `{"pad":"${'x'.repeat(20_000)}","messages":[{"content":"hidden","content":"seen"}],"n":1.0}`
    const before = JSON.parse(text)
    const spliced = spliceJson(text, before, { ...before, model: 'm' })
    expect(spliced).not.toContain('hidden')
    expect(spliced).toContain('1.0')
  })
})
