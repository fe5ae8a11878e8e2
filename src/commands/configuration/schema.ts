import { z } from 'zod'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { kinds } from './all.ts'
import type { FieldsOf } from './fields.ts'
import type { Kind } from './kind.ts'
import { documentField } from './translate.ts'

const schemaVersion = 'https://json-schema.org/draft/2020-12/schema'

/** The JSON Schema of a document, from the schemas of the API, for editors. */
export function buildJsonSchema(fieldsOf: FieldsOf): JsonObject {
  const definitions: JsonObject = {}
  const oneOf = kinds.map((kind) => describeKind(kind, fieldsOf, definitions))
  return {
    $schema: schemaVersion,
    title: 'Headgate configuration',
    description: 'A record of an organization, which "headgate apply" creates and changes.',
    type: 'object',
    required: ['kind', 'name'],
    properties: { kind: { enum: kinds.map(({ kind }) => kind) } },
    oneOf,
    $defs: definitions,
  }
}

function describeKind(kind: Kind, fieldsOf: FieldsOf, definitions: JsonObject): JsonObject {
  const { create, update, parts, names } = fieldsOf(kind)
  const known: JsonObject = {}
  for (const schema of [update, create, parts]) {
    const { $defs, ...described } = schema ? toJsonSchema(schema, kind.kind) : ({} as JsonObject)
    Object.assign(definitions, allowReferences($defs))
    const properties = listProperties(described)
    for (const [name, property] of Object.entries(properties)) {
      const field = documentField(kind, name)
      if (names.includes(field)) known[field] = allowReferences(property)
    }
  }
  for (const { field } of kind.references) {
    const [name = '', ...inner] = field.replace('[]', '').split('.')
    const own = asObject(known[name])
    // Names have another form than ids, and inner fields other names: the API validates them.
    if (own)
      known[name] = inner.length > 0 ? { ...describedAs(own), type: ['object', 'array'] } : toNames(own)
  }
  return {
    title: kind.kind,
    description: kind.description,
    type: 'object',
    required: ['kind', 'name'],
    additionalProperties: false,
    properties: {
      kind: { const: kind.kind },
      name: { type: 'string', minLength: 1, maxLength: 300 },
      ...(kind.place !== 'organization' && {
        workspace: { type: 'string', description: describePlace(kind) },
      }),
      spec: { type: 'object', additionalProperties: false, properties: known },
    },
  }
}

function describePlace({ place }: Kind): string {
  return place === 'workspace'
    ? 'The slug of the workspace. Defaults to `default`.'
    : 'The slug of the workspace. Without it, the record is for the whole organization.'
}

function toJsonSchema(schema: z.ZodType, kind: string): JsonObject {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    reused: 'inline',
    override: (context) => {
      const override = asObject((context.zodSchema as unknown as z.ZodType).meta()?.override)
      if (override) Object.assign(context.jsonSchema, override)
    },
  })
  // Schemas without a name of their own are numbered in each kind.
  return JSON.parse(JSON.stringify(json).replaceAll(/__schema\d+/g, `${kind}$&`))
}

/** The properties of an object; of all alternatives of a union, of which one has to hold. */
function listProperties(schema: JsonObject): JsonObject {
  const alternatives = schema.oneOf ?? schema.anyOf
  const own = asObject(schema.properties)
  if (own || !Array.isArray(alternatives)) return own ?? {}
  const merged: Record<string, unknown[]> = {}
  for (const alternative of alternatives as JsonObject[])
    for (const [name, property] of Object.entries(listProperties(alternative)))
      merged[name] = [...(merged[name] ?? []), property]
  return Object.fromEntries(
    Object.entries(merged).map(([name, properties]) => {
      const distinct = [...new Map(properties.map((one) => [JSON.stringify(one), one])).values()]
      return [name, distinct.length === 1 ? distinct[0] : { anyOf: distinct }]
    }),
  )
}

const reference = { type: 'string', pattern: '^\\$\\{env:[A-Za-z_][A-Za-z0-9_]*\\}$' }

/** Rules between fields: a document may have some of them only. */
const rules = new Set(['dependentRequired', 'dependentSchemas', 'if', 'then', 'else', 'not'])

/** Where a text must have a form, it may also be a reference. */
function allowReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(allowReferences)
  const object = asObject(schema)
  if (!object) return schema
  const inner = Object.fromEntries(
    Object.entries(object)
      .filter(([name]) => !rules.has(name))
      .map(([name, value]) => [
        name,
        name === 'default' || name === 'enum' || name === 'const' ? value : allowReferences(value),
      ]),
  )
  if (typeof inner.pattern === 'string') inner.pattern = withoutClasses(inner.pattern)
  const isForm = inner.type === 'string' && ('pattern' in inner || 'format' in inner || 'minLength' in inner)
  return isForm ? { ...describedAs(inner), anyOf: [inner, reference] } : inner
}

/** Not every editor reads patterns as Unicode, where alone these classes are known. */
const classes = { '\\p{Cc}': '\\u0000-\\u001f\\u007f-\\u009f', '\\p{Zl}': '\\u2028', '\\p{Zp}': '\\u2029' }

function withoutClasses(pattern: string): string {
  return Object.entries(classes).reduce((text, [name, range]) => text.replaceAll(name, range), pattern)
}

function describedAs({ description }: JsonObject): JsonObject {
  return typeof description === 'string' ? { description } : {}
}

function toNames(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema)
  const isList = text.includes('"array"')
  const one = isList ? { type: 'array', items: { type: 'string' } } : { type: 'string' }
  return { ...describedAs(schema), anyOf: [one, { type: 'null' }] }
}
