import type { ReasoningPart } from '../../call/part.ts'
import { packReasoning, unpackReasoning } from '../../call/reasoning.ts'
import { asObject, asString, type JsonObject } from '../../lib/json-values.ts'
import { readField } from './field-names.ts'

/** The format of signatures that this wire format carries by itself. */
export const nativeFormat = 'vendor_c-v1'

/** A signature of the vendor's that stands on a part and has no text of its own. */
export function createSignaturePart(signature: string, toolCallId?: string): ReasoningPart {
  const part: ReasoningPart = { kind: 'reasoning', text: '', summary: [], signature, format: nativeFormat }
  if (toolCallId !== undefined) part.id = toolCallId
  return part
}

export function isBareSignature(part: ReasoningPart): boolean {
  return part.format === nativeFormat && part.text === '' && part.signature !== undefined
}

/** What a person reads of it. */
export function readableTextOf(part: ReasoningPart): string {
  return part.text !== '' ? part.text : part.summary.filter((section) => section !== '').join('\n\n')
}

/**
 * Foreign thinking for a client of this format. What somebody signed goes inside, to come back byte for
 * byte; text that nobody signed stays outside, in the thought that carries the mark.
 */
export function packForeignReasoning(part: ReasoningPart, showsReasoning: boolean): string {
  const isTextOutside = showsReasoning && isUnsigned(part) && part.summary.length === 0
  const packed = packReasoning(isTextOutside ? { ...part, text: '' } : part)
  const body = packed.indexOf('.') + 1
  const bytes = [Buffer.from(packed.slice(0, body)), Buffer.from(packed.slice(body), 'base64url')]
  return Buffer.concat(bytes).toString('base64')
}

/**
 * Typed clients read a signature as bytes, so that it must be base64 from end to end, and may write it back
 * in the other alphabet. `hg1.` is how a packed part begins, `aGcxL` what that is in either.
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

/** A packed part with the text that stayed outside. `before`: the thoughts that directly precede it. */
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
 * A client's history without foreign thinking, which the vendor would refuse to verify. The thoughts shown
 * in front of a packed part are the same thinking, streamed.
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
