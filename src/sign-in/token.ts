import type { Token } from '../catalog/credential.ts'
import type { HeaderMap, Means } from './scheme.ts'

export const bearer = 'authorization'

/** `Authorization: Bearer`, or a header that holds the token alone. */
export function signWithToken({ token }: Token, { keyHeader }: Pick<Means, 'keyHeader'>): HeaderMap {
  return { [keyHeader]: keyHeader === bearer ? `Bearer ${token}` : token }
}
