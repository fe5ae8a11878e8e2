import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { z } from 'zod'
import { Vault } from './crypto/crypto.ts'
import { deriveUuid, newId, uuidPattern } from './crypto/ids.ts'
import { parseJson } from './json/json.ts'
import { JsonError } from './json/json-error.ts'
import { isUtcTimestamp, utcDay, utcMonthStart, utcWeekStart } from './time/time.ts'
import { parseYaml } from './validation/yaml.ts'

describe('parseJson', () => {
  test('reads what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'))
        expect(parseJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('S13 rejects deep nesting, and ignores brackets in strings', () => {
    expect(() => parseJson('['.repeat(100_000))).toThrow(JsonError)
    expect(() => parseJson(`${'['.repeat(129)}${']'.repeat(129)}`)).toThrow('nested deeper')
    expect(parseJson(JSON.stringify({ text: '[{'.repeat(1000) }))).toBeTruthy()
  })

  test.each(['{"__proto__":{"x":1}}', '{"a":[{"\\u005f_proto__":1}]}'])('S14 rejects %s', (text) => {
    expect(() => parseJson(text)).toThrow(JsonError)
  })

  test.each(['', '{', '{"a":1}x', "{'a':1}", 'undefined', '\u0000'])('rejects %j', (text) => {
    expect(() => parseJson(text)).toThrow(JsonError)
  })
})

describe('UTC times', () => {
  test.each(['2027-01-31T23:59:59Z', '2028-02-29T00:00:00.123456Z'])('accepts %s', (text) => {
    expect(isUtcTimestamp(text)).toBe(true)
  })
  test.each([
    '2027-01-31T23:59Z',
    '2027-01-31T23:59:59',
    '2027-01-31T23:59:59+00:00',
    '2027-02-29T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-01-31 23:59:59Z',
    '2027-01-31T24:00:00Z',
    '2027-01-31T23:59:60Z',
    'tomorrow',
  ])('rejects %s', (text) => {
    expect(isUtcTimestamp(text)).toBe(false)
  })

  test('R13 weeks begin on Monday, whatever the day', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (time) => {
        const start = Date.parse(utcWeekStart(time))
        expect(new Date(start).getUTCDay()).toBe(1)
        expect(start <= time && time < start + 7 * 86_400_000).toBe(true)
      }),
    )
  })

  test('R13 leap day and year end', () => {
    expect(utcDay(Date.parse('2028-02-29T23:59:59.999Z'))).toBe('2028-02-29')
    expect(utcMonthStart(Date.parse('2027-12-31T23:59:59.999Z'))).toBe('2027-12-01')
    expect(utcWeekStart(Date.parse('2028-01-01T00:00:00Z'))).toBe('2027-12-27')
  })
})

describe('ids', () => {
  test('a derived UUID is a UUID, and the same only for the same names', () => {
    expect(deriveUuid('a', 'b')).toMatch(uuidPattern)
    expect(deriveUuid('a', 'b')).toBe(deriveUuid('a', 'b'))
    expect(deriveUuid('a', 'b')).not.toBe(deriveUuid('ab', ''))
    expect(newId('user')).toMatch(/^user_[0-9a-f]{24}$/)
  })
})

describe('the vault', () => {
  const vault = new Vault('a master secret of some length')
  test('decrypts a value only with the same context', () => {
    const encrypted = vault.encrypt('sk-vendor-key', 'byok/1')
    expect(encrypted).not.toContain('vendor')
    expect(vault.decrypt(encrypted, 'byok/1')).toBe('sk-vendor-key')
    expect(() => vault.decrypt(encrypted, 'byok/2')).toThrow()
    expect(() => new Vault('another master secret').decrypt(encrypted, 'byok/1')).toThrow()
  })
  test('never encrypts the same text to the same value', () => {
    expect(vault.encrypt('x', 'c')).not.toBe(vault.encrypt('x', 'c'))
  })
})

describe('parseYaml', () => {
  const schema = z.strictObject({ a: z.strictObject({ b: z.number() }), c: z.string().optional() })
  const read = (text: string, environment: Record<string, string> = {}) =>
    parseYaml(text, 'headgate.yaml', schema, environment)

  test('expands environment variables after parsing, so a value cannot change the structure', () => {
    expect(read('a: { b: 1 }\nc: "x-${NAME}"', { NAME: 'y"\na: 2' })).toEqual({
      a: { b: 1 },
      c: 'x-y"\na: 2',
    })
  })
  test.each([
    ['a:\n  b: one', 'headgate.yaml, line 2: a.b'],
    ['# comment\na: { b: 1 }\nd: 1', 'headgate.yaml, line 3: d'],
    ['a: { b: 1 }\nc: ${MISSING}', 'headgate.yaml, line 2: the environment variable MISSING is not set'],
    ['a: { b: 1 }\n  c: [', 'headgate.yaml, line 2'],
  ])('names the line of %j', (text, message) => {
    expect(() => read(text)).toThrow(message)
  })
})
