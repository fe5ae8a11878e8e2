import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { JsonTokens } from './json-tokens.ts'

function readAll(text: string): { literals: string[]; isComplete: boolean } {
  const tokens = new JsonTokens(text)
  const literals: string[] = []
  while (tokens.readLiteral()) literals.push(text.slice(tokens.start, tokens.end))
  return { literals, isComplete: tokens.isComplete }
}

function isValid(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('reads the names and the scalars of a text', () => {
  const { literals, isComplete } = readAll(' {"a\\"b" : [1, -2.5e+3, true,null, []], "c":{}} ')
  expect(literals).toEqual(['"a\\"b"', '1', '-2.5e+3', 'true', 'null', '"c"'])
  expect(isComplete).toBe(true)
})

test('every JSON text is valid', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(readAll(text).isComplete).toBe(true)
    }),
    { seed: 1 },
  )
})

test('accepts exactly what the parser accepts', () => {
  const token = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      '\\u00e9',
      '1',
      '01',
      '-',
      '1.',
      '.5',
      '1e5',
      ' ',
      '\n',
    ],
    ...['true', 'nul', '"\\x"', '"\\u12"', '"\n"', '\u00a0'],
  )
  const text = fc.oneof(
    fc.array(token, { maxLength: 8 }).map((tokens) => tokens.join('')),
    fc
      .tuple(fc.json(), fc.nat(), token)
      .map(
        ([json, at, added]) =>
          json.slice(0, at % (json.length + 1)) + added + json.slice(at % (json.length + 1)),
      ),
  )
  fc.assert(
    fc.property(text, (value) => {
      expect(readAll(value).isComplete).toBe(isValid(value))
    }),
    { numRuns: 3000, seed: 1 },
  )
})

test('S13 nesting of any depth takes a byte for each level', () => {
  const depth = 1_000_000
  expect(readAll('['.repeat(depth) + ']'.repeat(depth)).isComplete).toBe(true)
  expect(readAll('['.repeat(depth)).isComplete).toBe(false)
})
