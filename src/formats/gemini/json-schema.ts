import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { toCamelCase } from './field-names.ts'

type KeywordConverter = (value: unknown) => unknown

/**
 * Converts the vendor's schema language to JSON Schema: types in lower case, limits as numbers, keywords in
 * one spelling. Unknown keywords are preserved; values (enum, default, example) are not converted.
 */
export function toJsonSchema(schema: JsonObject): JsonObject {
  const result: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    const keyword = toCamelCase(key)
    const convert = keywordConverters[keyword]
    if (convert) result[keyword] = convert(value)
    else result[key] = value
  }
  return result
}

const convertSchema: KeywordConverter = (value) => {
  const schema = asObject(value)
  return schema ? toJsonSchema(schema) : value
}
const convertSchemas: KeywordConverter = (value) => (Array.isArray(value) ? value.map(convertSchema) : value)
const convertSchemaMap: KeywordConverter = (value) => {
  const schemas = asObject(value)
  if (!schemas) return value
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convertSchema(schema)]))
}
const lowercaseType: KeywordConverter = (value) => {
  if (Array.isArray(value)) return value.map(lowercaseType)
  return typeof value === 'string' ? value.toLowerCase() : value
}
/** The vendor's JSON may carry integers as strings. */
const parseLimit: KeywordConverter = (value) =>
  typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
const identity: KeywordConverter = (value) => value

const keywordConverters: Record<string, KeywordConverter> = {
  type: lowercaseType,
  properties: convertSchemaMap,
  defs: convertSchemaMap,
  $defs: convertSchemaMap,
  items: (value) => (Array.isArray(value) ? convertSchemas(value) : convertSchema(value)),
  prefixItems: convertSchemas,
  anyOf: convertSchemas,
  oneOf: convertSchemas,
  allOf: convertSchemas,
  not: convertSchema,
  additionalProperties: convertSchema,
  minItems: parseLimit,
  maxItems: parseLimit,
  minLength: parseLimit,
  maxLength: parseLimit,
  minProperties: parseLimit,
  maxProperties: parseLimit,
  propertyOrdering: identity,
}
