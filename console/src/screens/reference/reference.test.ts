import { expect, test } from 'bun:test'
import {
  type ApiDocument,
  basePathOf,
  findByCall,
  groupByTag,
  listOperations,
  type Schema,
  searchOperations,
} from './document.ts'
import { createSample, describeBounds, describeType, isStructured, listFields, listParts } from './schema.ts'

const document: ApiDocument = await Bun.file(new URL('../../../../openapi.json', import.meta.url)).json()
const operations = listOperations(document)
const find = (id: string) => operations.find((operation) => operation.id === id)

test('every operation has an id of its own, a group and a text to search', () => {
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
  expect(groupByTag(operations).map(([tag]) => tag)).toEqual(
    expect.arrayContaining(document.tags.map(({ name }) => name)),
  )
  expect(operations.every(({ text, id }) => text.includes(id.toLowerCase()))).toBe(true)
})

test('the search finds words of the path, the description, the parameters and the body', () => {
  const ids = (query: string) => searchOperations(operations, query).map(({ id }) => id)
  expect(ids('include_disabled')).toContain('listKeys')
  expect(ids('POST /chat/completions')).toContain('createChatCompletion')
  expect(ids('keys:write delete')).toContain('deleteKey')
  expect(ids('no such operation anywhere')).toEqual([])
})

test.each([
  ['GET /keys', 'listKeys'],
  ['get /keys/abc', 'getKey'],
  ['GET /guardrails/hits', 'listGuardrailHits'],
  ['GET /guardrails/abc', 'getGuardrail'],
  ['PUT /keys', undefined],
  ['', undefined],
])('the operation of %j is %p', (call, id) => {
  expect(findByCall(operations, call)?.id).toBe(id)
})

test('paths of other formats begin at the address of the server', () => {
  expect(operations.filter((operation) => basePathOf(operation) === '').map(({ path }) => path)).toContain(
    '/v1beta/models/{model}',
  )
})

test('the schemas of every operation end, whatever contains itself', () => {
  for (const { requestBody, responses } of operations) {
    const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)]
    for (const { schema } of contents.flatMap((content) => Object.values(content ?? {}))) {
      if (!schema) continue
      expect(JSON.stringify(createSample(document, schema)).length).toBeLessThan(20_000)
      expect(describeType(document, schema).length).toBeLessThan(5000)
      for (const { declared } of listFields(document, schema)) describeType(document, declared)
    }
  }
})

test('a schema that refers to itself, or to nothing, is described', () => {
  const loop: ApiDocument = {
    ...document,
    components: {
      schemas: {
        Tree: {
          properties: { children: { items: { $ref: '#/components/schemas/Tree' } } },
          required: ['children'],
        },
        Loop: { $ref: '#/components/schemas/Loop' },
        Union: { anyOf: [{ $ref: '#/components/schemas/Union' }, { type: 'string' }] },
      },
    },
  }
  const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
  expect(describeType(loop, ref('Tree'))).toBe('Tree')
  expect(JSON.stringify(createSample(loop, ref('Tree'))).length).toBeLessThan(200)
  expect(createSample(loop, ref('Union'))).toBeNull()
  expect(describeType(loop, ref('Loop'))).toBe('Loop')
  expect(describeType(loop, ref('Missing'))).toBe('Missing')
  expect(isStructured(loop, ref('Tree'))).toBe(true)
  expect(listParts(loop, ref('Union'))).toHaveLength(1)
})

test('types and bounds in words', () => {
  const limit: Schema = { type: 'integer', minimum: 1, maximum: 100, default: 20 }
  expect(describeType(document, limit)).toBe('integer')
  expect(describeBounds(limit)).toEqual(['1 to 100', 'default 20'])
  expect(describeType(document, { enum: ['a', 'b'] })).toBe('"a" or "b"')
  expect(describeType(document, { type: 'array', items: { type: ['string', 'null'] } })).toBe(
    'array of string or null',
  )
})

test('the sample of a body has what is required', () => {
  const schema = find('createKey')?.requestBody?.content['application/json']?.schema ?? {}
  expect(createSample(document, schema)).toEqual({ name: '' })
})
