import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'

/** The arguments of a call; `{}` if they are not an object. */
export function parseArguments(text: string): JsonObject {
  return asObject(tryParseJson(text)) ?? {}
}
