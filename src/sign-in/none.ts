import type { SignInScheme } from './scheme.ts'

export interface NoCredential {
  kind: 'none'
}

/** For providers that need no key. */
export const none: SignInScheme<NoCredential> = {
  kind: 'none',
  listSecrets: () => [],
  identifierOf: () => '',
  createSigner: () => ({ sign: () => ({}) }),
}
