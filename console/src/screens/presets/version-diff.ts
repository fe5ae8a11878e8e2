import type { PresetVersion } from './draft.ts'

export interface FieldDifference {
  /** Names of nested fields, joined with dots. */
  path: string
  /** The values as text; null if the version does not have the field. */
  before: string | null
  after: string | null
}

/** The fields of the configuration that differ, in the order of their names. */
export function listDifferences(before: PresetVersion, after: PresetVersion): FieldDifference[] {
  const old = flatten(fieldsOf(before))
  const now = flatten(fieldsOf(after))
  return [...new Set([...old.keys(), ...now.keys()])]
    .sort()
    .map((path) => ({ path, before: old.get(path) ?? null, after: now.get(path) ?? null }))
    .filter((difference) => difference.before !== difference.after)
}

function fieldsOf({ format, config }: PresetVersion): Record<string, unknown> {
  return { ...config, format }
}

function flatten(values: Record<string, unknown>, prefix = ''): Map<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries(values)) {
    const path = prefix + name
    if (!isObject(value) || Object.keys(value).length === 0) fields.set(path, writeValue(value))
    else for (const [nested, text] of flatten(value, `${path}.`)) fields.set(nested, text)
  }
  return fields
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Lists of objects on several lines, so that they can be compared line by line. */
export function writeValue(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) && value.some(isObject)
    ? JSON.stringify(value, null, 2)
    : JSON.stringify(value ?? null)
}
