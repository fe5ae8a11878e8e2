import { z } from 'zod'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { isCheapToCheck } from './schema-cost.ts'

/** Building a validator of a larger schema takes too long. */
const maxSchemaLength = 16 * 1024
const maxDepth = 30

/** A pattern of a client could take forever, and formats are hints. */
const ignoredKeywords: ReadonlySet<string> = new Set(['pattern', 'patternProperties', 'format'])

/** Whether a value meets a JSON Schema; null if that cannot be checked, or would take long. */
export function conformsTo(schema: JsonObject, value: unknown): boolean | null {
  if (JSON.stringify(schema).length > maxSchemaLength) return null
  try {
    const checked = asObject(withoutPatterns(schema, 0))
    return checked && isCheapToCheck(checked, value)
      ? z.fromJSONSchema(checked).safeParse(value).success
      : null
  } catch {
    // A keyword that the library does not know.
    return null
  }
}

function withoutPatterns(value: unknown, depth: number): unknown {
  if (depth > maxDepth) throw new Error('the schema is too deep')
  if (Array.isArray(value)) return value.map((entry) => withoutPatterns(entry, depth + 1))
  const fields = asObject(value)
  if (!fields) return value
  return Object.fromEntries(
    Object.entries(fields)
      // The name of a property is not a keyword.
      .filter(
        ([name, field]) => !ignoredKeywords.has(name) || (name !== 'patternProperties' && asObject(field)),
      )
      .map(([name, field]) => [name, withoutPatterns(field, depth + 1)]),
  )
}
