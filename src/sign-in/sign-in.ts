import type { Signing } from '../catalog/credential.ts'
import { signWithAccessKey } from './access-key.ts'
import type { HeaderMap, Means, Signable } from './scheme.ts'
import { signWithServiceAccount } from './service-account.ts'
import { signWithToken } from './token.ts'

/** The headers that make a request the account's own. */
export function signIn(request: Signable, credential: Signing, means: Means): HeaderMap | Promise<HeaderMap> {
  switch (credential.kind) {
    case 'none':
      return {}
    case 'token':
      return signWithToken(credential, means)
    case 'access-key':
      return signWithAccessKey(request, credential, means)
    case 'service-account':
      return signWithServiceAccount(credential, means)
  }
}
