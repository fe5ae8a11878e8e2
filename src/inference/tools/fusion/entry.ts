import type { NativeTool } from '../../../formats/call/call.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'

/** Entries that the plugin has added: it works in formats whose clients cannot name the tool. */
const addedEntries = new WeakSet<JsonObject>()

/** An entry of `tools` that no client has sent. */
export function createFusionEntry(parameters: JsonObject): NativeTool {
  const value: JsonObject = { type: 'service:fusion', parameters }
  addedEntries.add(value)
  return { kind: 'native', wireFormat: 'chat', type: 'service:fusion', value }
}

export function isAddedEntry(entry: JsonObject): boolean {
  return addedEntries.has(entry)
}
