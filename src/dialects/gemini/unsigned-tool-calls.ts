import { asObject, type JsonObject } from '../../lib/json-values.ts'
import { listOf, readField } from './field-names.ts'

/** The word the vendor documents for calls that another model made, in place of a signature. */
const skipValidationSignature = 'skip_thought_signature_validator'

/**
 * Models that think in levels refuse a turn in which the first call of a step bears no signature. Only the
 * turn that is going on is looked at: it begins after the last thing a user said.
 */
export function signUnsignedToolCalls(contents: unknown[]): unknown[] {
  const turnStart = contents.findLastIndex((entry) => {
    const content = asObject(entry)
    if (content?.role === 'model') return false
    return listOf(content?.parts).some(
      (part) => readField(asObject(part) ?? {}, 'functionResponse') === undefined,
    )
  })
  return contents.map((entry, index) => {
    const content = asObject(entry)
    return content?.role === 'model' && index > turnStart ? signFirstToolCall(content) : entry
  })
}

function signFirstToolCall(content: JsonObject): JsonObject {
  const parts = listOf(content.parts)
  const first = parts.findIndex((part) => readField(asObject(part) ?? {}, 'functionCall') !== undefined)
  const toolCall = asObject(parts[first])
  if (!toolCall || readField(toolCall, 'thoughtSignature') !== undefined) return content
  return { ...content, parts: parts.with(first, { ...toolCall, thoughtSignature: skipValidationSignature }) }
}
