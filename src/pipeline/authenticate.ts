import { type ApiKey, findKeyBySecret } from '../account/keys.ts'
import { fail, type GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'

/** Who is calling: the one result of the one authenticator. */
export interface Caller {
  key: ApiKey
  organizationId: string
  userId: string | null
}

/** Longer credentials are not looked at: no key of ours, nor a partner's, is near this. */
const maxCredentialLength = 512

/** Every place clients put a key, in the order they are tried; the first valid one counts. */
export async function authenticate(gateway: Gateway, request: Request): Promise<Caller> {
  let refusal: GatewayError = fail('credential_missing')
  for (const secret of credentialsOf(request.headers)) {
    const key = await findKeyBySecret(gateway.db, secret)
    const problem = keyProblem(gateway, key)
    if (key && !problem) return { key, organizationId: key.organization_id, userId: key.creator_user_id }
    refusal = problem ?? refusal
  }
  throw refusal
}

function credentialsOf(headers: Headers): string[] {
  const bearer = /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1]
  const found = [bearer ?? '', headers.get('x-api-key')?.trim() ?? '']
  return found.filter((secret) => secret !== '' && secret.length <= maxCredentialLength)
}

function keyProblem(gateway: Gateway, key: ApiKey | undefined): GatewayError | undefined {
  if (!key) return fail('credential_invalid')
  if (key.disabled || key.suspended) return fail('key_disabled')
  if (key.expires_at !== null && Date.parse(key.expires_at) <= gateway.clock.now()) return fail('key_expired')
  return undefined
}
