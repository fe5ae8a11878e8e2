/** Scales a vector to length 1; null if it has no direction or is not of numbers. */
export function normalizeVector(vector: Float32Array): Float32Array<ArrayBuffer> | null {
  let square = 0
  for (const value of vector) square += value * value
  if (!(square > 0) || !Number.isFinite(square)) return null
  const scale = 1 / Math.sqrt(square)
  return Float32Array.from(vector, (value) => value * scale)
}

/** The cosine of two vectors of length 1; -1 if they are not of the same model. */
export function cosineOf(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return -1
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0)
  return Math.min(1, Math.max(-1, sum))
}

export function toBytes({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** Copies the bytes: those of a pool may begin where numbers cannot. */
export function fromBytes(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  return new Float32Array(bytes.slice().buffer)
}

/** The numbers of bytes that were a vector before. */
export function viewBytes({ buffer, byteOffset, byteLength }: Buffer): Float32Array {
  return new Float32Array(buffer, byteOffset, byteLength / Float32Array.BYTES_PER_ELEMENT)
}
