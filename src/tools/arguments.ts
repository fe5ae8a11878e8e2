import { asObject, type JsonObject } from '../lib/json-values.ts'

/** The arguments of a call; `{}` if they are not an object. */
export function parseArguments(text: string): JsonObject {
  try {
    return asObject(JSON.parse(text)) ?? {}
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return {}
    throw error
  }
}
