import type { TextPlace } from '../../../formats/call/texts.ts'
import type { ScannedText } from '../../../governance/filters/scan-text.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../../platform/json/json-values.ts'

/** Names of fields whose values are not part of what was said. */
const plainFields: ReadonlySet<string> = new Set(['role', 'type', 'id', 'status'])
const maxDepth = 20

/** Roles of texts; any other is the user's. */
const roles = new Map<string, TextPlace['role']>([
  ['system', 'system'],
  ['developer', 'developer'],
  ['assistant', 'assistant'],
  ['model', 'assistant'],
])

/** The texts of a stored prompt, whatever the format of its messages. */
export function listStoredTexts(input: JsonObject): ScannedText[] {
  const prompt = asString(input.prompt)
  if (prompt !== undefined) return [{ text: prompt, place: { part: 'text', role: 'user', message: 0 } }]
  return asObjects(input.messages).flatMap((entry, message) => {
    const role = roles.get(asString(entry.role) ?? '') ?? 'user'
    return collectStrings(entry, 0).map((text) => ({ text, place: { part: 'text' as const, role, message } }))
  })
}

function collectStrings(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value]
  if (depth > maxDepth) return []
  if (Array.isArray(value)) return value.flatMap((item) => collectStrings(item, depth + 1))
  return Object.entries(asObject(value) ?? {}).flatMap(([name, item]) =>
    plainFields.has(name) && typeof item === 'string' ? [] : collectStrings(item, depth + 1),
  )
}
