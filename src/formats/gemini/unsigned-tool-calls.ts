import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { listOf, readField } from './field-names.ts'

/** The documented placeholder signature for tool calls of other models. */
const skipValidationSignature = 'skip_thought_signature_validator'

/**
 * Models with thinking levels reject a turn in which the first tool call of a step has no signature. Only the
 * current turn is checked: it starts after the last user message.
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
