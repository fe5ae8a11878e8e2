import { describe, expect, test } from 'bun:test'
import type { z } from 'zod'
import { loadOperations } from '../src/api/all.ts'
import { buildOpenApiDocument } from '../src/http/openapi.ts'
import { keyPermissions } from '../src/identity/permissions/permissions.ts'
import { gatewayError } from '../src/platform/errors/gateway-error.ts'
import { callerKinds, callerOf, configFor } from './long/openapi/config.ts'
import { unstated } from './long/openapi/exceptions.ts'

const operations = await loadOperations()

// biome-ignore lint/suspicious/noExplicitAny: the tests read schemas of every shape
type Json = any

const document: Json = JSON.parse(JSON.stringify(buildOpenApiDocument(operations)))
const described = (id: string): Json =>
  Object.values<Json>(document.paths)
    .flatMap((path) => Object.values<Json>(path))
    .find(({ operationId }) => operationId === id)
const bodyOf = (id: string): Json => {
  const { schema } = described(id).requestBody.content['application/json']
  return schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema
}

/** Query strings that a schema allows, as far as its bounds, values and default tell; none if it allows none. */
function allowedStrings(schema: Json): string[] {
  const types: string[] = [schema.type].flat()
  const values: unknown[] = schema.enum ?? [schema.minimum, schema.maximum, schema.default]
  if (types.includes('boolean')) values.push(true, false)
  if (types.includes('null')) values.push(null)
  return values.filter((value) => value !== undefined && isOneOf(types, value)).map(String)
}

function isOneOf(types: string[], value: unknown): boolean {
  if (value === null) return types.includes('null')
  return types.includes(typeof value) || (types.includes('integer') && Number.isInteger(value))
}

describe('query parameters', () => {
  for (const { id, query } of operations) {
    if (!query) continue
    const { shape } = query as z.ZodObject<Record<string, z.ZodType>>
    for (const { name, in: location, schema, allowEmptyValue } of described(id).parameters) {
      if (location !== 'query') continue
      test(`${id}: what the document allows for ${name} is accepted`, () => {
        const strings = [...allowedStrings(schema), ...(allowEmptyValue ? [''] : [])]
        if (schema.enum || schema.type !== 'string') expect(strings).not.toEqual([])
        for (const text of strings) {
          expect(`${text}: ${shape[name]?.safeParse(text).success}`).toBe(`${text}: true`)
        }
      })
    }
  }
})

describe('rules that are checked in code are in the document', () => {
  test('amounts that must be greater than zero', () => {
    expect(bodyOf('createGuardrail').properties.limit_usd.anyOf[0].minimum).toBe(1e-9)
    expect(bodyOf('grantCredits').else.properties.amount.minimum).toBe(1e-9)
  })

  test('fields that exclude or require each other', () => {
    const [both, neither] = bodyOf('createGuardrail').anyOf
    expect(both.required).toEqual(['limit_usd', 'reset_interval'])
    expect(neither.properties.limit_usd.type).toBe('null')
    expect(bodyOf('createMessage').not.required).toEqual(['fallbacks', 'models'])
    expect(bodyOf('createAuthCode').dependentRequired.code_challenge_method).toEqual(['code_challenge'])
    expect(bodyOf('ollamaShow').anyOf).toEqual([{ required: ['model'] }, { required: ['name'] }])
  })

  test('fields required by the value of another', () => {
    const message = bodyOf('createPresetFromChat').properties.messages.items
    expect(message.if.properties.role.enum).not.toContain('assistant')
    expect(message.then.required).toEqual(['content'])
  })

  test('patterns and counts', () => {
    const { slug } = bodyOf('createWorkspace').properties
    expect(slug.not.pattern).toBeString()
    const [modalities] = described('countModels').parameters
    expect('text, image').toMatch(new RegExp(modalities.schema.pattern))
    expect('all').toMatch(new RegExp(modalities.schema.pattern))
    expect('text,all').not.toMatch(new RegExp(modalities.schema.pattern))
    expect(bodyOf('createKey').properties.expires_at.anyOf[0].pattern).toBeString()
  })
})

test('exceptions of the schemathesis run name existing operations', () => {
  const ids = new Set(operations.map(({ id }) => id))
  expect(Object.keys(unstated).filter((id) => !ids.has(id))).toEqual([])
})

test('one kind of caller of the schemathesis run calls each operation, and has the permission', () => {
  const enabled = callerKinds.map(
    (kind) => configFor(kind, { Authorization: 'x' }).split('enabled = true').length - 1,
  )
  expect(enabled.reduce((sum, count) => sum + count)).toBe(operations.length)
  for (const count of enabled) expect(count).toBeGreaterThan(5)
  for (const operation of operations) {
    const { permission } = operation
    const kind = callerOf(operation)
    if (permission === 'public') continue
    if (kind === 'member') expect(permission).toStartWith('account:')
    else expect([permission, keyPermissions[kind].has(permission)]).toEqual([permission, true])
  }
})

describe('responses', () => {
  test('streams and feeds are among the content types', () => {
    const typesOf = (id: string) => Object.keys(described(id).responses['200'].content)
    for (const id of ['createChatCompletion', 'createMessage', 'createResponse', 'getResponse'])
      expect(typesOf(id)).toEqual(['application/json', 'text/event-stream'])
    expect(typesOf('ollamaChat')).toContain('application/x-ndjson')
    expect(typesOf('listModels')).toContain('application/rss+xml')
  })

  test('errors match the schema of the document', () => {
    const error = gatewayError('not_found', 'There is no such thing.')
    for (const { id, inference, encodeError, errorSchema } of operations) {
      const encode = inference?.encodeError ?? encodeError
      const schema = inference?.errorSchema ?? errorSchema
      const { $ref } = described(id).responses['500'].content['application/json'].schema
      const body = encode?.(error, 'req_1')
      if (schema) expect([id, schema.safeParse(body).success]).toEqual([id, true])
      else {
        expect($ref).toBe('#/components/schemas/Error')
        if (body) expect(body).toMatchObject({ error: { code: 404, message: expect.any(String) } })
      }
    }
  })
})
