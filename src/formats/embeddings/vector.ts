import { NumberList } from '../../platform/json/number-lists.ts'
import { isBase64Text } from '../../platform/media/base64-image.ts'
import type { VectorEncoding } from '../call/embeddings.ts'

/** An embedding as an upstream sent it: numbers, or their float32 bytes in base64. */
export type Vector = NumberList | string

/** The most numbers of a vector that can be requested. */
export const maxDimensions = 65_536
/** Characters of a number in JSON with all its digits, and in base64. */
const charactersPerNumber = 26
const charactersPerFloat = 16 / 3

export function asVector(value: unknown): Vector | undefined {
  return value instanceof NumberList || typeof value === 'string' ? value : undefined
}

/** The JSON text of a vector in another encoding, or its own; null if it is no vector. */
export function convertVector(vector: Vector, encoding: VectorEncoding): string | null {
  if (isTooLong(vector)) return null
  if (typeof vector === 'string') {
    if (!isVectorBytes(vector)) return null
    return encoding === 'base64' ? `"${vector}"` : encodeNumbers(decodeBytes(vector))
  }
  if (encoding === 'float') return hasEmptyEntry(vector.text) ? null : vector.text
  const numbers = parseNumbers(vector.text)
  return numbers && encodeVector(Float32Array.from(numbers), 'base64')
}

/** Converting it would take long. */
function isTooLong(vector: Vector): boolean {
  return typeof vector === 'string'
    ? vector.length > maxDimensions * charactersPerFloat + 4
    : vector.text.length > maxDimensions * charactersPerNumber
}

export function encodeVector(numbers: Float32Array, encoding: VectorEncoding): string {
  if (encoding === 'float') return `[${numbers.join(',')}]`
  const { buffer, byteOffset, byteLength } = numbers
  return `"${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`
}

/** Null if a number is infinite or none at all, which JSON cannot express. */
function encodeNumbers(numbers: Float32Array): string | null {
  return numbers.every(Number.isFinite) ? encodeVector(numbers, 'float') : null
}

/** Base64 of at least one number. */
function isVectorBytes(text: string): boolean {
  return text.length % 4 === 0 && isBase64Text(text) && Buffer.byteLength(text, 'base64') % 4 === 0
}

/** A comma without a number before or after it. */
function hasEmptyEntry(text: string): boolean {
  return /,\s*[,\]]/.test(text)
}

function parseNumbers(text: string): number[] | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Every machine this runs on is little-endian, as the encoding is. */
function decodeBytes(base64: string): Float32Array {
  // A copy: bytes of a pool may begin at an offset where numbers cannot.
  return new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer)
}
