import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ReasoningFormat, ReasoningPart } from '../call/part.ts'
import { packReasoning, unpackReasoning } from '../call/reasoning.ts'
import { decodeReasoningFormat } from '../reasoning-format.ts'

/** The signature format that thinking blocks carry without packing. */
export const nativeFormat: ReasoningFormat = 'vendor_a-v1'

export function decodeThinking(block: JsonObject): ReasoningPart {
  const signature = asString(block.signature) ?? ''
  const packed = unpackReasoning(signature)
  if (packed) return packed
  const part: ReasoningPart = {
    kind: 'reasoning',
    text: asString(block.thinking) ?? '',
    summary: [],
    format: signature === '' ? 'unknown' : nativeFormat,
  }
  if (signature !== '') part.signature = signature
  return part
}

export function decodeRedactedThinking(block: JsonObject): ReasoningPart {
  return {
    kind: 'reasoning',
    text: '',
    summary: [],
    encrypted: asString(block.data) ?? '',
    format: nativeFormat,
  }
}

/** Sent in the block itself, so that the reader knows the format before the signature arrives. */
export function decodeFormatHint(block: JsonObject): ReasoningFormat | undefined {
  return decodeReasoningFormat(block.format)
}

/** The `format` field of a block; omitted for the vendor's own thinking unless it must be packed. */
export function encodeFormatHint({ id, summary, format }: ReasoningPart): JsonObject {
  return format === nativeFormat && id === undefined && summary.length === 0 ? {} : { format }
}

export function isRedacted(part: ReasoningPart): boolean {
  return part.format === nativeFormat && part.encrypted !== undefined && part.signature === undefined
}

/** The text that a client can read. */
export function readableTextOf(part: ReasoningPart): string {
  return part.text !== '' ? part.text : part.summary.join('\n\n')
}

/** The vendor's own signature where the block holds everything else; otherwise the whole part, packed. */
export function encodeSignature(part: ReasoningPart): string {
  const { id, summary, signature, encrypted, format } = part
  const needsPacking = id !== undefined || summary.length > 0 || encrypted !== undefined
  if (format === nativeFormat && !needsPacking) return signature ?? ''
  if (format === 'unknown' && !needsPacking && signature === undefined) return ''
  return packReasoning(part)
}

/** Null when there is no text and nothing that must be sent back. */
export function encodeThinking(part: ReasoningPart): JsonObject | null {
  if (isRedacted(part) && part.text === '') return { type: 'redacted_thinking', data: part.encrypted }
  const [thinking, signature] = [readableTextOf(part), encodeSignature(part)]
  if (thinking === '' && signature === '') return null
  return { type: 'thinking', thinking, signature, ...encodeFormatHint(part) }
}

/** Encodes, for a client that hides reasoning, only what must be sent back with the next turn. */
export function encodeHiddenThinking(part: ReasoningPart): JsonObject | null {
  if (part.signature === undefined && part.encrypted === undefined) return null
  if (isRedacted(part)) return { type: 'redacted_thinking', data: part.encrypted }
  return { type: 'thinking', thinking: '', signature: packReasoning(part), ...encodeFormatHint(part) }
}
