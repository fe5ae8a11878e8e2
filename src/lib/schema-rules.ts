import type { oas32 } from 'zod-openapi'

// Rules between fields, for the `override` of a schema whose refinement JSON Schema would not show otherwise.

type Schema = Exclude<oas32.SchemaObject, boolean>

/** These fields are there, and not null. */
export function present(...names: string[]): Schema {
  return {
    required: names,
    properties: Object.fromEntries(names.map((name) => [name, { not: { type: 'null' as const } }])),
  }
}

/** Where `condition` holds, so does `then`. */
export function when(condition: Schema, then: Schema): Schema {
  return { if: condition, then }
}

/** Where `field` has one of `values`, `then` holds. */
export function whenField(field: string, values: readonly string[], then: Schema): Schema {
  return when({ required: [field], properties: { [field]: { enum: [...values] } } }, then)
}

/** At most one of two fields is given. */
export function notBoth(one: string, other: string): Schema {
  return { not: present(one, other) }
}
