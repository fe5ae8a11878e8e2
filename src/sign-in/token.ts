import type { Token } from '../catalogue/credential.ts'
import type { HeaderMap, SignInContext } from './context.ts'

export const bearerHeader = 'authorization'

/** `Authorization: Bearer`, or a header that holds the token alone. */
export function signWithToken({ token }: Token, { keyHeader }: Pick<SignInContext, 'keyHeader'>): HeaderMap {
  return { [keyHeader]: keyHeader === bearerHeader ? `Bearer ${token}` : token }
}
