import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ReasoningPart } from '../call/part.ts'
import { packReasoning, unpackReasoning } from '../call/reasoning.ts'
import { readField } from './field-names.ts'

/** The signature format that this wire format carries without packing. */
export const nativeFormat = 'vendor_c-v1'

/** A signature that the vendor attached to another part, without text. */
export function createSignaturePart(signature: string, toolCallId?: string): ReasoningPart {
  const part: ReasoningPart = { kind: 'reasoning', text: '', summary: [], signature, format: nativeFormat }
  if (toolCallId !== undefined) part.id = toolCallId
  return part
}

export function isBareSignature(part: ReasoningPart): boolean {
  return part.format === nativeFormat && part.text === '' && part.signature !== undefined
}

/** The text that a client can read. */
export function readableTextOf(part: ReasoningPart): string {
  return part.text !== '' ? part.text : part.summary.filter((section) => section !== '').join('\n\n')
}

/**
 * Packs another vendor's reasoning into a signature. Signed text is packed, so that it comes back unchanged;
 * unsigned text stays in the thought that carries the signature.
 */
export function packForeignReasoning(part: ReasoningPart, showsReasoning: boolean): string {
  const isTextOutside = showsReasoning && isUnsigned(part) && part.summary.length === 0
  const packed = packReasoning(isTextOutside ? { ...part, text: '' } : part)
  const body = packed.indexOf('.') + 1
  const bytes = [Buffer.from(packed.slice(0, body)), Buffer.from(packed.slice(body), 'base64url')]
  return Buffer.concat(bytes).toString('base64')
}

/**
 * Typed clients decode signatures to bytes, so a packed one must be valid base64, and may come back in the
 * other alphabet. Packed parts begin with `hg1.`, which is `aGcxL` in both alphabets.
 */
function unpackSignature(signature: string): ReasoningPart | undefined {
  if (!signature.startsWith('aGcxL')) return undefined
  const bytes = Buffer.from(signature, 'base64')
  const body = bytes.indexOf('.') + 1
  return unpackReasoning(bytes.toString('latin1', 0, body) + bytes.toString('base64url', body))
}

function isUnsigned(part: ReasoningPart): boolean {
  return part.signature === undefined && part.encrypted === undefined
}

/** A packed part with its text. `precedingText`: the text of the thoughts directly before it. */
export function unpackForeignReasoning(
  packed: string,
  precedingText: string,
): { part: ReasoningPart; rest: string } | null {
  const part = unpackSignature(packed)
  if (!part) return null
  const text = readableTextOf(part)
  if (text === '' && isUnsigned(part)) return { part: { ...part, text: precedingText }, rest: '' }
  return {
    part,
    rest: precedingText.endsWith(text)
      ? precedingText.slice(0, precedingText.length - text.length)
      : precedingText,
  }
}

/**
 * Removes other vendors' reasoning from a client's history, because the vendor rejects its signatures. The
 * plain thoughts before a packed part are the same reasoning, streamed.
 */
export function removeForeignReasoning(parts: unknown[]): {
  parts: unknown[]
  isSigned: boolean
  isChanged: boolean
} {
  const remaining: unknown[] = []
  let run = 0
  let [isSigned, isChanged] = [false, false]
  for (const entry of parts) {
    const part = asObject(entry)
    const signature = part && asString(readField(part, 'thoughtSignature'))
    const foreign = signature === undefined ? undefined : unpackSignature(signature)
    if (!part || !foreign) {
      run = part && isPlainThought(part) ? run + 1 : 0
      remaining.push(entry)
      continue
    }
    isChanged = true
    isSigned ||= !isUnsigned(foreign)
    if (part.thought === true) remaining.length -= run
    else remaining.push(removeSignature(part))
    run = 0
  }
  return { parts: remaining, isSigned, isChanged }
}

function isPlainThought(part: JsonObject): boolean {
  return (
    part.thought === true &&
    typeof part.text === 'string' &&
    readField(part, 'thoughtSignature') === undefined
  )
}

function removeSignature(part: JsonObject): JsonObject {
  const { thoughtSignature: _, thought_signature: __, ...rest } = part
  return rest
}
