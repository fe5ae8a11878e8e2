/** Writes a value of a filter of the request log, where a comma separates values and `!` excludes one. */
export function escapeFilterValue(value: string): string {
  return value.replace(/[\\,]|^!/g, '\\$&')
}
