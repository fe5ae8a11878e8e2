import { expect, test } from 'bun:test'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { generateSample } from './sample.ts'

const cases: [string, JsonObject, unknown][] = [
  [
    'const and enum',
    { type: 'object', properties: { a: { const: 7 }, b: { enum: ['x', 'y'] } } },
    { a: 7, b: 'x' },
  ],
  [
    'the text once, in the first free string, even when it is optional',
    {
      type: 'object',
      properties: { day: { type: 'string', format: 'date' }, q: { type: 'string' }, r: { type: 'string' } },
      required: ['day', 'r'],
    },
    { day: '2026-01-01', q: 'text', r: 'r from the sandbox' },
  ],
  [
    'only the required properties, if there is a list of them',
    { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['b'] },
    { b: 1 },
  ],
  ['nullable types and unions', { anyOf: [{ type: 'null' }, { type: ['null', 'integer'] }] }, 1],
  ['limits of lists', { type: 'array', minItems: 2, items: { type: 'boolean' } }, [true, true]],
  ['tuples', { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }] }, [1, 'text']],
  ['limits of texts', { type: 'string', minLength: 6 }, 'text..'],
  ['short texts', { type: 'string', maxLength: 2 }, 'te'],
  ['limits of whole numbers', { type: 'integer', minimum: 5, multipleOf: 4 }, 8],
  ['exclusive limits', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  ['upper limits', { type: 'integer', maximum: -3 }, -3],
  [
    'allOf',
    { allOf: [{ type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] }] },
    { a: true },
  ],
  ['no type at all', {}, 'text'],
]

for (const [name, schema, value] of cases) {
  test(`makes a value for ${name}`, () => expect(generateSample(schema, 'text')).toEqual(value))
}

test('follows references, including recursive ones', () => {
  const node = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
      children: { type: 'array', items: { $ref: '#/$defs/node' } },
    },
    required: ['name', 'next', 'children'],
  }
  const value = generateSample({ $ref: '#/$defs/node', $defs: { node } }, 'root')
  expect(value).toMatchObject({ name: 'root', next: { name: 'name from the sandbox' }, children: [{}] })
  expect(JSON.stringify(value).length).toBeLessThan(20_000)
})

test('a recursive schema terminates', () => {
  const endless = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] }
  expect(JSON.stringify(generateSample(endless, 'x')).length).toBeLessThan(2_000_000)
  const self = { $ref: '#' }
  expect(generateSample(self, 'x')).toBe('x')
  const circle = { allOf: [{ $ref: '#' }, { $ref: '#' }] }
  expect(generateSample(circle, 'x')).toBeDefined()
})

test('an unresolvable reference allows any value', () => {
  expect(generateSample({ $ref: 'https://example.com/schema' }, 'x')).toBe('x')
})
