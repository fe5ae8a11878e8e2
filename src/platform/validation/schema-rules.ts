import type { oas32 } from 'zod-openapi'

// Rules between fields for the `override` of a schema, because refinements are not part of its JSON Schema.

type Schema = Exclude<oas32.SchemaObject, boolean>

/** The fields are present and not null. */
export function requireFields(...names: string[]): Schema {
  return {
    required: names,
    properties: Object.fromEntries(names.map((name) => [name, { not: { type: 'null' as const } }])),
  }
}

/** Requires `then` of values that match `condition`. */
export function ifThen(condition: Schema, then: Schema): Schema {
  return { if: condition, then }
}

/** Requires `then` of values whose `field` has one of `values`. */
export function ifFieldIn(field: string, values: readonly string[], then: Schema): Schema {
  return ifThen({ required: [field], properties: { [field]: { enum: [...values] } } }, then)
}

/** Allows at most one of two fields. */
export function excludeBoth(one: string, other: string): Schema {
  return { not: requireFields(one, other) }
}
