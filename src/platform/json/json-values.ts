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

/** Whether a value is empty, or only has empty members. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.values(value).every(isBlank)
}

/** The first value that is not blank, since vendors send unused members blank; the first present one if all are. */
export function firstFilled(...values: unknown[]): unknown {
  return values.find((value) => !isBlank(value)) ?? values.find((value) => value !== undefined)
}

/** The first count above zero. */
export function firstCount(...values: unknown[]): number {
  for (const value of values) if (asCount(value) > 0) return asCount(value)
  return 0
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
