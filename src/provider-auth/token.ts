import type { AuthScheme } from './scheme.ts'

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
  createSigner: () => ({
    sign: (_request, credential, { keyHeader, keyScheme = 'Bearer' }) => ({
      [keyHeader]: keyHeader === bearerHeader ? `${keyScheme} ${credential.token}` : credential.token,
    }),
  }),
}
