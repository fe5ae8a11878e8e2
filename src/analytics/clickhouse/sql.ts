/** A text as a literal of ClickHouse. */
export function quoteText(text: string): string {
  return `'${text.toWellFormed().replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

export function quoteValue(value: string | number | bigint): string {
  return typeof value === 'string' ? quoteText(value) : String(value)
}

export function quoteList(values: readonly (string | number | bigint)[]): string {
  return `(${values.map(quoteValue).join(', ')})`
}

/** A time in milliseconds as a value of `DateTime64(3)`. */
export function quoteTime(ms: number): string {
  return `fromUnixTimestamp64Milli(toInt64(${Math.round(ms)}), 'UTC')`
}

/** Milliseconds of a time. */
export function millisecondsOf(column: string): string {
  return `toUnixTimestamp64Milli(${column})`
}
