import type { ReasoningPart } from '../../call/part.ts'
import { packReasoning, unpackReasoning } from '../../call/reasoning.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import { field } from './names.ts'

/** The format of signatures that this wire format carries by itself. */
export const ownFormat = 'vendor_c-v1'

/** A signature of the vendor's that stands on a part and has no text of its own. */
export function signatureOf(signature: string, callId?: string): ReasoningPart {
  const part: ReasoningPart = { kind: 'reasoning', text: '', summary: [], signature, format: ownFormat }
  if (callId !== undefined) part.id = callId
  return part
}

export function isBareSignature(part: ReasoningPart): boolean {
  return part.format === ownFormat && part.text === '' && part.signature !== undefined
}

/** What a person reads of it. */
export function readable(part: ReasoningPart): string {
  return part.text !== '' ? part.text : part.summary.filter((section) => section !== '').join('\n\n')
}

/**
 * Foreign thinking for a client of this format. What somebody signed goes inside, to come back byte for
 * byte; text that nobody signed stays outside, in the thought that carries the mark.
 */
export function packForeign(part: ReasoningPart, shown: boolean): string {
  const outside = shown && isUnsigned(part) && part.summary.length === 0
  const packed = packReasoning(outside ? { ...part, text: '' } : part)
  const body = packed.indexOf('.') + 1
  const bytes = [Buffer.from(packed.slice(0, body)), Buffer.from(packed.slice(body), 'base64url')]
  return Buffer.concat(bytes).toString('base64')
}

/**
 * Typed clients read a signature as bytes, so that it must be base64 from end to end, and may write it back
 * in the other alphabet. `hg1.` is how a packed part begins, `aGcxL` what that is in either.
 */
function unpack(signature: string): ReasoningPart | undefined {
  if (!signature.startsWith('aGcxL')) return undefined
  const bytes = Buffer.from(signature, 'base64')
  const body = bytes.indexOf('.') + 1
  return unpackReasoning(bytes.toString('latin1', 0, body) + bytes.toString('base64url', body))
}

function isUnsigned(part: ReasoningPart): boolean {
  return part.signature === undefined && part.encrypted === undefined
}

/** A packed part with the text that stayed outside. `before`: the thoughts that directly precede it. */
export function unpackForeign(packed: string, before: string): { part: ReasoningPart; rest: string } | null {
  const part = unpack(packed)
  if (!part) return null
  const text = readable(part)
  if (text === '' && isUnsigned(part)) return { part: { ...part, text: before }, rest: '' }
  return { part, rest: before.endsWith(text) ? before.slice(0, before.length - text.length) : before }
}

/**
 * A client's history without foreign thinking, which the vendor would refuse to verify. The thoughts shown
 * in front of a packed part are the same thinking, streamed.
 */
export function withoutForeign(parts: unknown[]): { parts: unknown[]; signed: boolean; changed: boolean } {
  const kept: unknown[] = []
  let run = 0
  let [signed, changed] = [false, false]
  for (const entry of parts) {
    const part = objectOf(entry)
    const signature = part && textOf(field(part, 'thoughtSignature'))
    const foreign = signature === undefined ? undefined : unpack(signature)
    if (!part || !foreign) {
      run = part && isPlainThought(part) ? run + 1 : 0
      kept.push(entry)
      continue
    }
    changed = true
    signed ||= !isUnsigned(foreign)
    if (part.thought === true) kept.length -= run
    else kept.push(unsigned(part))
    run = 0
  }
  return { parts: kept, signed, changed }
}

function isPlainThought(part: JsonObject): boolean {
  return (
    part.thought === true && typeof part.text === 'string' && field(part, 'thoughtSignature') === undefined
  )
}

function unsigned(part: JsonObject): JsonObject {
  const { thoughtSignature: _, thought_signature: __, ...rest } = part
  return rest
}
