import type { JsonObject } from '../../platform/json/json-values.ts'
import type { InputPart, OutputPart, ToolCallPart } from '../call/part.ts'
import { encodeAudio, encodeSource, parseToolArguments } from './parts-encode.ts'

/** The wire parts of a reply part; empty if the format cannot express it. */
export function encodeOutputPart(part: InputPart | OutputPart): JsonObject[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }]
    case 'image':
      return [encodeSource(part.source) ?? {}].filter((encoded) => Object.keys(encoded).length > 0)
    case 'audio':
      return [
        ...(part.data ? [encodeAudio(part)] : []),
        ...(part.transcript ? [{ text: part.transcript }] : []),
      ]
    case 'tool-call':
      return [encodeToolCall(part)]
    case 'opaque':
      // Clients of this format cannot read native blocks of another.
      return part.wireFormat === 'gemini' ? [part.value] : []
    default:
      return []
  }
}

function encodeToolCall(toolCall: ToolCallPart): JsonObject {
  return { functionCall: { id: toolCall.id, name: toolCall.name, args: parseToolArguments(toolCall) } }
}
