import type { ApiDocument, Schema } from './document.ts'

/** References that are followed, one to the next. */
const maxReferences = 10
/** Schemas can contain themselves. */
const maxSampleDepth = 6

export interface NamedSchema {
  schema: Schema
  /** The name of the component, if the schema is one. */
  name: string | null
}

/** The schema that a reference leads to. */
export function resolveSchema({ components }: ApiDocument, schema: Schema): NamedSchema {
  let current: NamedSchema = { schema, name: null }
  for (let step = 0; step < maxReferences && current.schema.$ref; step++) {
    const name = current.schema.$ref.split('/').at(-1) ?? ''
    current = { schema: components.schemas[name] ?? {}, name }
  }
  return current
}

/** `string`, `array of Message`, `"a" or "b"`, `string or null` */
export function describeType(document: ApiDocument, schema: Schema, depth = 0): string {
  const { schema: resolved, name } = resolveSchema(document, schema)
  const options = resolved.anyOf ?? resolved.oneOf
  if (resolved.const !== undefined) return JSON.stringify(resolved.const)
  if (resolved.enum) return resolved.enum.map((value) => JSON.stringify(value)).join(' or ')
  if (resolved.properties) return name ?? 'object'
  if (options) {
    if (depth > 2) return name ?? 'several types'
    return [...new Set(options.map((option) => describeType(document, option, depth + 1)))].join(' or ')
  }
  if (resolved.items && depth <= 2) return `array of ${describeType(document, resolved.items, depth + 1)}`
  const types = [resolved.type ?? name ?? 'any'].flat()
  return types.join(' or ') + (resolved.format ? ` (${resolved.format})` : '')
}

/** `from 1 to 100`, `default 20` */
export function describeBounds(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  return [
    formatRange('', minimum, maximum),
    formatRange(' characters', minLength, maxLength),
    formatRange(' entries', minItems, maxItems),
    schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`,
  ].filter(Boolean)
}

function formatRange(unit: string, min: number | undefined, max: number | undefined): string {
  // The schema of an integer has the largest number of its type.
  const isBounded = max !== undefined && Math.abs(max) < 900_000_000_000_000
  if (min !== undefined && isBounded) return `${min} to ${max}${unit}`
  if (isBounded) return `at most ${max}${unit}`
  return min !== undefined && min > -900_000_000_000_000 ? `at least ${min}${unit}` : ''
}

export interface Field extends NamedSchema {
  field: string
  isRequired: boolean
  /** The schema before it is resolved, with the description of this place. */
  declared: Schema
}

/** The fields of an object, those of `allOf` included. */
export function listFields(document: ApiDocument, schema: Schema, depth = 0): Field[] {
  const { schema: resolved } = resolveSchema(document, schema)
  const own = Object.entries(resolved.properties ?? {}).map(([field, declared]) => ({
    ...resolveSchema(document, declared),
    field,
    declared,
    isRequired: resolved.required?.includes(field) ?? false,
  }))
  if (depth > maxReferences) return own
  return [...own, ...(resolved.allOf ?? []).flatMap((part) => listFields(document, part, depth + 1))]
}

/** Lists the parts to open below a schema: entries of a list, values of a record, or one of several types. */
export function listParts(document: ApiDocument, schema: Schema): { label: string; schema: Schema }[] {
  const { schema: resolved } = resolveSchema(document, schema)
  const alternatives = resolved.properties ? [] : (resolved.anyOf ?? resolved.oneOf ?? [])
  const options = alternatives.filter((option) => isStructured(document, option))
  const { items, additionalProperties: values } = resolved
  return [
    ...options.map((option) => ({ label: describeType(document, option), schema: option })),
    ...(items && isStructured(document, items) ? [{ label: 'each entry', schema: items }] : []),
    ...(typeof values === 'object' && isStructured(document, values)
      ? [{ label: 'each value', schema: values }]
      : []),
  ]
}

/** Whether there is more to see than its type. */
export function isStructured(document: ApiDocument, schema: Schema): boolean {
  const { schema: resolved } = resolveSchema(document, schema)
  if (resolved.properties || resolved.allOf) return true
  if (typeof resolved.additionalProperties === 'object') return true
  return [...(resolved.anyOf ?? resolved.oneOf ?? []), ...(resolved.items ? [resolved.items] : [])].some(
    (part) => {
      const inner = resolveSchema(document, part).schema
      return Boolean(inner.properties ?? inner.items ?? inner.anyOf ?? inner.oneOf ?? inner.allOf)
    },
  )
}

/** A value to begin with: what is required, filled with examples and defaults. */
export function createSample(document: ApiDocument, schema: Schema, depth = 0): unknown {
  const { schema: resolved } = resolveSchema(document, schema)
  const [known] = [resolved.const, resolved.examples?.[0], resolved.default, resolved.enum?.[0]].filter(
    (value) => value !== undefined,
  )
  if (known !== undefined) return known
  const [option] = resolved.anyOf ?? resolved.oneOf ?? []
  if (depth >= maxSampleDepth) return null
  if (resolved.properties || resolved.allOf) {
    // The options of an object say which of its fields are required.
    const required = listFields(document, resolved).filter(
      ({ field, isRequired }) => isRequired || option?.required?.includes(field),
    )
    const fields = required.map(({ field, declared }) => [field, createSample(document, declared, depth + 1)])
    return Object.fromEntries(fields)
  }
  if (option) return createSample(document, option, depth + 1)
  if (resolved.items) return [createSample(document, resolved.items, depth + 1)]
  return sampleOfType([resolved.type ?? 'object'].flat()[0] ?? 'object', resolved)
}

function sampleOfType(type: string, { minimum = 0 }: Schema): unknown {
  const samples: Record<string, unknown> = {
    string: '',
    integer: Math.max(minimum, 0),
    number: Math.max(minimum, 0),
    boolean: false,
    array: [],
    null: null,
  }
  return type in samples ? samples[type] : {}
}
