import type { SigningCredential } from '../catalogue/credential.ts'
import { signWithAccessKey } from './access-key.ts'
import type { HeaderMap, SignableRequest, SignInContext } from './context.ts'
import { signWithServiceAccount } from './service-account.ts'
import { signWithToken } from './token.ts'

/** The headers that make a request the account's own. */
export function signRequest(
  request: SignableRequest,
  credential: SigningCredential,
  context: SignInContext,
): HeaderMap | Promise<HeaderMap> {
  switch (credential.kind) {
    case 'none':
      return {}
    case 'token':
      return signWithToken(credential, context)
    case 'access-key':
      return signWithAccessKey(request, credential, context)
    case 'service-account':
      return signWithServiceAccount(credential, context)
  }
}
