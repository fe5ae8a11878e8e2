import { asObject, type JsonObject } from '../../platform/json/json-values.ts'

const snakeCaseNames = new Map<string, string>()

/** The vendor accepts every field in two spellings, such as `inlineData` and `inline_data`. */
export function toSnakeCase(name: string): string {
  const cached = snakeCaseNames.get(name)
  if (cached !== undefined) return cached
  const converted = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  snakeCaseNames.set(name, converted)
  return converted
}

export function toCamelCase(name: string): string {
  return name.includes('_', 1) ? name.replace(/(?<=.)_([a-z])/g, (_, letter) => letter.toUpperCase()) : name
}

/** A field in either spelling; null counts as absent. */
export function readField(object: JsonObject, name: string): unknown {
  return object[name] ?? object[toSnakeCase(name)] ?? undefined
}

export function readObjectField(object: JsonObject | undefined, name: string): JsonObject | undefined {
  return object && asObject(readField(object, name))
}

/** The vendor also accepts a single value in place of a list. */
export function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}
