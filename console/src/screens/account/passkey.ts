import { client } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import type { paths } from '../../api/schema.ts'

type PasskeyBody = paths['/account/passkeys']['post']['requestBody']['content']['application/json']

/** Whether the browser can create passkeys: not without https, except at localhost. */
export function canCreatePasskeys(): boolean {
  return (
    typeof PublicKeyCredential !== 'undefined' &&
    typeof PublicKeyCredential.parseCreationOptionsFromJSON === 'function'
  )
}

/** Has the browser make a passkey, and adds it to the account. */
export async function createPasskey(name: string): Promise<void> {
  const { data } = await client.POST('/account/passkeys/options')
  const options = data?.data as unknown as PublicKeyCredentialCreationOptionsJSON
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const credential = await navigator.credentials.create({ publicKey }).catch(explainRefusal)
  if (!(credential instanceof PublicKeyCredential)) return
  await client.POST('/account/passkeys', {
    body: { name, credential: credential.toJSON() as unknown as PasskeyBody['credential'] },
  })
}

/** The browser says little, so that a page learns nothing about the person. */
function explainRefusal(error: unknown): never {
  const name = error instanceof Error ? error.name : ''
  if (name === 'InvalidStateError')
    throw new ApiError(409, 'This device has a passkey of this account already.', null)
  if (name === 'NotAllowedError')
    throw new ApiError(400, 'The browser did not create it: it was canceled, or took too long.', null)
  throw error
}
