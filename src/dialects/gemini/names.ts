import { type JsonObject, objectOf } from '../../lib/loose.ts'

const snakes = new Map<string, string>()

/** The vendor takes each field in two spellings, `inlineData` and `inline_data`. */
export function snake(name: string): string {
  const known = snakes.get(name)
  if (known !== undefined) return known
  const made = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  snakes.set(name, made)
  return made
}

export function camel(name: string): string {
  return name.includes('_', 1) ? name.replace(/(?<=.)_([a-z])/g, (_, letter) => letter.toUpperCase()) : name
}

/** A field in either spelling; null counts as absent, as everywhere in this format. */
export function field(object: JsonObject, name: string): unknown {
  return object[name] ?? object[snake(name)] ?? undefined
}

export function objectField(object: JsonObject | undefined, name: string): JsonObject | undefined {
  return object && objectOf(field(object, name))
}

/** The vendor also takes a single value where a list belongs. */
export function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}
