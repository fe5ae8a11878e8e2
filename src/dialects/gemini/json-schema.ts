import { type JsonObject, objectOf } from '../../lib/loose.ts'
import { camel } from './names.ts'

type Reader = (value: unknown) => unknown

/**
 * The vendor's own schema language as JSON Schema: types in small letters, limits as numbers, keywords in
 * one spelling. Every keyword stays, known or not; values (enum, default, example) are not looked into.
 */
export function jsonSchemaOf(schema: JsonObject): JsonObject {
  const result: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    const keyword = camel(key)
    const read = keywords[keyword]
    if (read) result[keyword] = read(value)
    else result[key] = value
  }
  return result
}

const nested: Reader = (value) => {
  const schema = objectOf(value)
  return schema ? jsonSchemaOf(schema) : value
}
const list: Reader = (value) => (Array.isArray(value) ? value.map(nested) : value)
const named: Reader = (value) => {
  const schemas = objectOf(value)
  if (!schemas) return value
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, nested(schema)]))
}
const lower: Reader = (value) => {
  if (Array.isArray(value)) return value.map(lower)
  return typeof value === 'string' ? value.toLowerCase() : value
}
/** Whole numbers may come as text, as everywhere in the vendor's JSON. */
const limit: Reader = (value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value)
const same: Reader = (value) => value

const keywords: Record<string, Reader> = {
  type: lower,
  properties: named,
  defs: named,
  $defs: named,
  items: (value) => (Array.isArray(value) ? list(value) : nested(value)),
  prefixItems: list,
  anyOf: list,
  oneOf: list,
  allOf: list,
  not: nested,
  additionalProperties: nested,
  minItems: limit,
  maxItems: limit,
  minLength: limit,
  maxLength: limit,
  minProperties: limit,
  maxProperties: limit,
  propertyOrdering: same,
}
