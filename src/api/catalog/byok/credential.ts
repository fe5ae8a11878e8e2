import { z } from 'zod'
import {
  type Credential,
  CredentialError,
  type CredentialForm,
  identifierOf,
  parseCredential,
} from '../../../catalog/credential.ts'
import type { Vault } from '../../../platform/crypto/crypto.ts'
import { isMasked, maskSecret } from '../../../platform/crypto/mask.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findUrlProblem } from '../../../platform/http/egress-policy.ts'

const maxCredentialLength = 64 * 1024

/** The rules for every credential, before the provider is known. */
export const credentialText = z
  .string()
  .trim()
  .min(1)
  .max(maxCredentialLength)
  .describe('A token, or the JSON credential of some providers. Encrypted when stored and never returned.')

/** Validates a credential and returns its label; the error names a field, never its value. */
export function resolveLabel(
  text: string,
  form: CredentialForm | undefined,
  allowPrivate: readonly string[],
): string {
  if (isMasked(text)) throw invalidFieldError('key', 'is a masked value; send the secret itself')
  try {
    const credential = parseCredential(text, form)
    validateAddresses(credential, allowPrivate)
    return maskSecret(identifierOf(credential))
  } catch (error) {
    if (error instanceof CredentialError)
      throw invalidFieldError(['key', ...error.path].join('.'), error.message)
    throw error
  }
}

/** A user-supplied address must follow the egress rules, here and when a request is sent to it. */
function validateAddresses(credential: Credential, allowPrivate: readonly string[]): void {
  if (credential.kind !== 'deployments') return
  for (const { index, url } of credential.deployments) {
    const problem = findUrlProblem(URL.parse(url), allowPrivate)
    if (problem !== null) throw new CredentialError([index, 'endpoint_url'], problem)
  }
}

export function encryptKey(vault: Vault, id: string, key: string): string {
  return vault.encrypt(key, `byok/${id}`)
}
