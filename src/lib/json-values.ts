/** Readers for untrusted JSON: a value of another type reads as absent and never throws. */
export type JsonObject = { [name: string]: unknown }

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}

export function asObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => asObject(item) !== undefined) : []
}

export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** An untrusted count: a non-negative safe integer, otherwise 0. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

export function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** Removes undefined fields, so that they are absent on the wire and not null. */
export function omitUndefined<T extends JsonObject>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const result: JsonObject = {}
  for (const name in fields) if (fields[name] !== undefined) result[name] = fields[name]
  return result as { [K in keyof T]: Exclude<T[K], undefined> }
}
