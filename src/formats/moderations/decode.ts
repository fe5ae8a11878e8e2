import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import type { ModerationsCall } from '../call/moderations.ts'
import type { InputPart } from '../call/part.ts'
import { computeRequestSize, type RequestSize } from '../call/size.ts'
import { decodeSource } from '../chat/parts-decode.ts'
import { pickUnknown } from '../fields.ts'
import { moderationsRequest } from './schema.ts'

/** A validated request in the internal form, as a prompt, and its size. */
export function decodeModerations(body: JsonObject): {
  body: JsonObject
  call: ModerationsCall
  prompt: ModelCall
  size: RequestSize
} {
  const { input } = body
  const parts = (Array.isArray(input) ? input : [input]).map(decodePart)
  const isTexts = Array.isArray(input) && typeof input[0] === 'string'
  const call: ModerationsCall = {
    input,
    texts: parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])),
    count: isTexts ? parts.length : 1,
    extra: pickUnknown(body, knownFields),
  }
  const prompt: ModelCall = { messages: [{ role: 'user', parts }], stream: false, unknown: [] }
  const bytes = Buffer.byteLength(JSON.stringify(input))
  const size = { ...computeRequestSize(prompt, {}, bytes), outputTokens: 0, prompts: parts.length }
  return { body, call, prompt, size }
}

const knownFields: ReadonlySet<string> = new Set(Object.keys(moderationsRequest.shape))

function decodePart(value: unknown): InputPart {
  const part = asObject(value)
  if (part?.type !== 'image_url') return { kind: 'text', text: asString(part?.text ?? value) ?? '' }
  return { kind: 'image', source: decodeSource(asString(asObject(part.image_url)?.url) ?? '') }
}
