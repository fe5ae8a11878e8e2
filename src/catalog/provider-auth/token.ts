import type { AuthContext, AuthScheme, HeaderMap } from './scheme.ts'

export interface Token {
  kind: 'token'
  token: string
}

export const bearerHeader = 'authorization'

/** `Authorization` with a scheme, or a header with only the token. */
export const token: AuthScheme<Token> = {
  kind: 'token',
  listSecrets: (credential) => [credential.token],
  identifierOf: (credential) => credential.token,
  headersOf,
  createSigner: () => ({ sign: (_request, credential, context) => headersOf(credential, context) }),
}

function headersOf(credential: Token, { keyHeader, keyScheme = 'Bearer' }: AuthContext<unknown>): HeaderMap {
  return { [keyHeader]: keyHeader === bearerHeader ? `${keyScheme} ${credential.token}` : credential.token }
}
