import { z } from 'zod'
import {
  type Credential,
  CredentialError,
  type CredentialForm,
  nameOf,
  readCredential,
} from '../../catalog/credential.ts'
import { badField } from '../../errors.ts'
import { urlProblem } from '../../lib/egress.ts'
import { isMasked, mask } from '../../lib/mask.ts'

const longestJson = 64 * 1024

/** Before the provider is known: what holds for every credential. */
export const credentialText = z
  .string()
  .trim()
  .min(1)
  .max(longestJson)
  .describe('A token, or the JSON some providers use. Sealed at once; never shown again')

/** The label of a credential that is well formed; the problem names a field, never what is in it. */
export function labelOf(
  text: string,
  form: CredentialForm | undefined,
  allowPrivate: readonly string[],
): string {
  if (isMasked(text)) throw badField('key', 'is a masked value')
  try {
    const credential = readCredential(text, form)
    checkAddresses(credential, allowPrivate)
    return mask(nameOf(credential))
  } catch (error) {
    if (error instanceof CredentialError) throw badField(['key', ...error.path].join('.'), error.message)
    throw error
  }
}

/** What a user writes is held to the rules for such addresses, here and when something is sent there. */
function checkAddresses(credential: Credential, allowPrivate: readonly string[]): void {
  if (credential.kind !== 'deployments') return
  for (const { place, url } of credential.deployments) {
    const problem = urlProblem(URL.parse(url), allowPrivate)
    if (problem !== null) throw new CredentialError([place, 'endpoint_url'], problem)
  }
}
