import { createDecipheriv, createHash } from 'node:crypto'
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js'

/** Decrypts what LiteLLM stores encrypted; undefined if the key is not the one. */
export type Decrypt = (text: string) => string | undefined

const gcmPrefix = 'v2:gcm:'
const nonceBytes = 24
const tagBytes = 16
const gcmNonceBytes = 12

/** The key is the SHA-256 of LITELLM_SALT_KEY, or of the master key where that is not set. */
export function createDecrypt(saltKey: string): Decrypt {
  const key = createHash('sha256').update(saltKey).digest()
  return (text) => {
    const isGcm = text.startsWith(gcmPrefix)
    const bytes = Buffer.from(isGcm ? text.slice(gcmPrefix.length) : text, 'base64url')
    try {
      return (isGcm ? openGcm(key, bytes) : openSecretBox(key, bytes)).toString('utf8')
    } catch {
      return undefined
    }
  }
}

/** NaCl SecretBox: the nonce, then XSalsa20-Poly1305. */
function openSecretBox(key: Uint8Array, bytes: Buffer): Buffer {
  const box = xsalsa20poly1305(key, bytes.subarray(0, nonceBytes))
  return Buffer.from(box.decrypt(bytes.subarray(nonceBytes)))
}

function openGcm(key: Uint8Array, bytes: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, gcmNonceBytes))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(gcmNonceBytes, -tagBytes)), decipher.final()])
}
