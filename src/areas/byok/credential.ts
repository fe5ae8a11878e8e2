import { z } from 'zod'
import {
  type Credential,
  CredentialError,
  type CredentialForm,
  identifierOf,
  parseCredential,
} from '../../catalogue/credential.ts'
import { invalidFieldError } from '../../errors/gateway-error.ts'
import { findUrlProblem } from '../../lib/egress-policy.ts'
import { isMasked, maskSecret } from '../../lib/mask.ts'

const maxCredentialLength = 64 * 1024

/** Before the provider is known: what holds for every credential. */
export const credentialText = z
  .string()
  .trim()
  .min(1)
  .max(maxCredentialLength)
  .describe('A token, or the JSON some providers use. Sealed at once; never shown again')

/** The label of a credential that is well formed; the problem names a field, never what is in it. */
export function resolveLabel(
  text: string,
  form: CredentialForm | undefined,
  allowPrivate: readonly string[],
): string {
  if (isMasked(text)) throw invalidFieldError('key', 'is a masked value')
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

/** What a user writes is held to the rules for such addresses, here and when something is sent there. */
function validateAddresses(credential: Credential, allowPrivate: readonly string[]): void {
  if (credential.kind !== 'deployments') return
  for (const { index, url } of credential.deployments) {
    const problem = findUrlProblem(URL.parse(url), allowPrivate)
    if (problem !== null) throw new CredentialError([index, 'endpoint_url'], problem)
  }
}
