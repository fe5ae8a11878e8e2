import { isSameText, type Vault } from './crypto.ts'
import { newToken } from './ids.ts'

/** A small document that the client keeps and cannot change; each token is different. */
export function createSignedToken(vault: Vault, purpose: string, content: object): string {
  const text = Buffer.from(JSON.stringify({ ...content, nonce: newToken() })).toString('base64url')
  return `${text}.${vault.sign(`${purpose}:${text}`)}`
}

/** Undefined unless the token was created here for the purpose. The caller checks whether it has expired. */
export function readSignedToken<T>(vault: Vault, purpose: string, token: string): T | undefined {
  const [text = '', signature = ''] = token.split('.')
  if (!isSameText(signature, vault.sign(`${purpose}:${text}`))) return undefined
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as T
}
