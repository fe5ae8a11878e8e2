interface OverriddenValue {
  field: string
  now: string
  /** Null if there was none. */
  before: string | null
}

/** Prices field by field, everything else as a whole. */
export function overriddenValues(fields: object, base: object | null): OverriddenValue[] {
  return flatten(fields).map(([path, value]) => {
    const before = read(base, path)
    return {
      field: path.join('.'),
      now: toText(value),
      before: before === undefined ? null : toText(before),
    }
  })
}

function flatten(fields: object): [path: string[], value: unknown][] {
  return Object.entries(fields).flatMap(([name, value]): [string[], unknown][] =>
    name === 'pricing' && isObject(value)
      ? Object.entries(value).map(([price, amount]) => [[name, price], amount])
      : [[[name], value]],
  )
}

function read(base: unknown, path: string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (isObject(value) ? (value as Record<string, unknown>)[name] : undefined),
    base,
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
