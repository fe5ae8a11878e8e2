import { asNumber, type JsonObject } from '../platform/json/json-values.ts'

/** Whether a vendor's usage has any of these counts. Zero counts; a value that is no count does not. */
export function hasAnyCount(usage: JsonObject, names: readonly string[]): boolean {
  return names.some((name) => {
    const count = asNumber(usage[name])
    return count !== undefined && Number.isSafeInteger(count) && count >= 0
  })
}
