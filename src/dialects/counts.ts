import { type JsonObject, numberOf } from '../lib/loose.ts'

/** Whether a vendor's usage tells any of these counts. Zero is one; what cannot be a count is not. */
export function tellsAny(usage: JsonObject, names: readonly string[]): boolean {
  return names.some((name) => {
    const count = numberOf(usage[name])
    return count !== undefined && Number.isSafeInteger(count) && count >= 0
  })
}
