import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { TimeSlicer } from '../time/time-slicer.ts'

/** API keys, codes and tokens are random, so an unsalted hash is sufficient. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function isSameText(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
}

const encryptionOverheadBytes = 12 + 16

/** A multiple of three, so that the base64 of slices can be concatenated. */
const sliceBytes = 192 * 1024

/** Encrypts secrets that must be read back (vendor keys, signing secrets) and signs tokens. */
export class Vault {
  readonly #encryptionKey: Uint8Array
  readonly #signKey: Uint8Array
  readonly #searchKey: Uint8Array

  constructor(master: string) {
    this.#encryptionKey = deriveKey(master, 'headgate/seal')
    this.#signKey = deriveKey(master, 'headgate/sign')
    this.#searchKey = deriveKey(master, 'headgate/search')
  }

  /** AES-256-GCM. `context` binds the ciphertext to its row, so that it cannot be moved to another. */
  encrypt(text: string, context: string): string {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#encryptionKey, nonce).setAAD(Buffer.from(context))
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return `v1.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`
  }

  /** Encrypts bytes, as `encrypt` does a text. */
  encryptBytes(bytes: Uint8Array, context: string): Uint8Array {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#encryptionKey, nonce).setAAD(Buffer.from(context))
    const body = [cipher.update(bytes), cipher.final()]
    return Buffer.concat([nonce, cipher.getAuthTag(), ...body])
  }

  decryptBytes(encrypted: Uint8Array, context: string): Buffer {
    const decipher = createDecipheriv('aes-256-gcm', this.#encryptionKey, encrypted.subarray(0, 12))
      .setAAD(Buffer.from(context))
      .setAuthTag(encrypted.subarray(12, 28))
    return Buffer.concat([decipher.update(encrypted.subarray(28)), decipher.final()])
  }

  /** Encrypts a long text in chunks, as `encrypt` does a short one; yields to the event loop. */
  async encryptChunks(chunks: Iterable<string>, context: string): Promise<string> {
    const slicer = new TimeSlicer()
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#encryptionKey, nonce).setAAD(Buffer.from(context))
    const body: Buffer[] = []
    const parts = Iterator.from(chunks).map((chunk) => cipher.update(chunk, 'utf8'))
    for await (const part of slicer.iterate(parts)) body.push(part)
    body.push(cipher.final())
    let encrypted = 'v1.'
    const bytes = Buffer.concat([nonce, cipher.getAuthTag(), ...body])
    for await (const text of slicer.iterate(encodeBase64Slices(bytes))) encrypted += text
    return encrypted
  }

  decrypt(encrypted: string, context: string): string {
    const bytes = Buffer.from(encrypted.slice('v1.'.length), 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', this.#encryptionKey, bytes.subarray(0, 12))
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(12, 28))
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
  }

  /** Size of the plaintext of a encrypted value. */
  static plaintextBytes(encrypted: string): number {
    return Math.floor(((encrypted.length - 'v1.'.length) * 3) / 4) - encryptionOverheadBytes
  }

  /** A key for hashes of words, which can be compared within the same context only. */
  deriveSearchKey(context: string): Uint8Array {
    return createHmac('sha256', this.#searchKey).update(context).digest()
  }

  sign(text: string): string {
    return createHmac('sha256', this.#signKey).update(text).digest('base64url')
  }
}

function* encodeBase64Slices(bytes: Buffer): Generator<string> {
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    yield bytes.subarray(at, at + sliceBytes).toString('base64url')
  }
}

function deriveKey(master: string, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', master, '', purpose, 32))
}
