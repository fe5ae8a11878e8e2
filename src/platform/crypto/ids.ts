// Without node:crypto, which takes 8 ms to load, in each thread again.

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function newUuid(): string {
  return crypto.randomUUID()
}

/** The same id for the same names, for records that are not stored. RFC 9562 version 5. */
export function deriveUuid(...names: string[]): string {
  const bytes = new Bun.CryptoHasher('sha1').update(names.join('\0')).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** An opaque id such as `user_4f1c...`: 24 hex digits, random enough that ids cannot be guessed or counted. */
export function newId(prefix: string): string {
  return `${prefix}_${randomHex().slice(0, 24)}`
}

/** A random UUID is the runtime's cheapest source of random digits. */
function randomHex(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

/** 32 hex digits that grow with time, so that rows written together are adjacent in an index. */
export function newTimeOrderedHex(): string {
  return Bun.randomUUIDv7().replaceAll('-', '')
}

export function newToken(): string {
  return crypto.getRandomValues(Buffer.alloc(32)).toString('base64url')
}
