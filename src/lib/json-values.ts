/** Reading JSON of unknown origin: what is not of the wanted kind is absent, never an exception. */
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

/** Counts from outside: whole, not negative, within what a number holds exactly. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

export function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** Leaves out what is undefined, so that it is absent on the wire and not null. */
export function omitUndefined<T extends JsonObject>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const result: JsonObject = {}
  for (const name in fields) if (fields[name] !== undefined) result[name] = fields[name]
  return result as { [K in keyof T]: Exclude<T[K], undefined> }
}
