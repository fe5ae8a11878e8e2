import { asNumber, type JsonObject } from '../platform/json/json-values.ts'

/** Whether a vendor's usage has any of these counts. Zero counts; a value that is no count does not. */
export function hasAnyCount(usage: JsonObject, names: readonly string[]): boolean {
  for (const name of names) {
    const count = asNumber(usage[name])
    if (count !== undefined && Number.isSafeInteger(count) && count >= 0) return true
  }
  return false
}
