import type { InputPart, OutputPart, ToolCallPart } from '../../call/part.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { argumentsOf, encodeAudio, sourceOf } from './parts-encode.ts'

/** A part of an answer for a client; none for what this format cannot show. */
export function encodeOutput(part: InputPart | OutputPart): JsonObject[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }]
    case 'image':
      return [sourceOf(part.source) ?? {}].filter((encoded) => Object.keys(encoded).length > 0)
    case 'audio':
      return [
        ...(part.data ? [encodeAudio(part)] : []),
        ...(part.transcript ? [{ text: part.transcript }] : []),
      ]
    case 'tool-call':
      return [encodeCall(part)]
    case 'opaque':
      // A block of another format means nothing to a client of this one.
      return part.dialect === 'gemini' ? [part.value] : []
    default:
      return []
  }
}

function encodeCall(call: ToolCallPart): JsonObject {
  return { functionCall: { id: call.id, name: call.name, args: argumentsOf(call) } }
}
