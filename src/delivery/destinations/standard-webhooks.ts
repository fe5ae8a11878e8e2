import { createHmac } from 'node:crypto'
import { secretField } from './destination.ts'
import type { SignedMessage } from './otlp.ts'

const prefix = 'whsec_'
const minKeyBytes = 24
const maxKeyBytes = 64

/** A secret in the form of Standard Webhooks. */
export const signingSecretField = secretField.refine(
  isSigningSecret,
  `must be ${prefix} and the base64 of ${minKeyBytes} to ${maxKeyBytes} bytes`,
)

function isSigningSecret(secret: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) return false
  const { length } = decodeKey(secret)
  return length >= minKeyBytes && length <= maxKeyBytes
}

function decodeKey(secret: string): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64')
}

/** The headers of Standard Webhooks: receivers verify the signature and recognize repeated messages by the id. */
export function signWebhook(secret: string, { id, sentAt, body }: SignedMessage): Record<string, string> {
  const timestamp = Math.floor(sentAt / 1000).toString()
  const signature = createHmac('sha256', decodeKey(secret))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
