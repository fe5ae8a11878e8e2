import type { AuthScheme } from './scheme.ts'

export interface NoCredential {
  kind: 'none'
}

/** The scheme of providers that need no key. */
export const none: AuthScheme<NoCredential> = {
  kind: 'none',
  listSecrets: () => [],
  identifierOf: () => '',
  createSigner: () => ({ sign: () => ({}) }),
}
