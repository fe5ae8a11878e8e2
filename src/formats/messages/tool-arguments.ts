import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'

/** The arguments of a tool with free-text input. */
function wrapCustomInput(text: string): JsonObject {
  return { input: text }
}

/**
 * Arguments as the object that the format requires. Other text is wrapped in `_raw`, so that the model still
 * sees what it wrote.
 */
export function parseToolArguments(text: string, custom: boolean | undefined): JsonObject {
  if (custom) return wrapCustomInput(text)
  if (text.trim() === '') return {}
  return asObject(tryParseJson(text)) ?? { _raw: text }
}
