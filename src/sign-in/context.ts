import type { ServiceAccount } from '../catalogue/credential.ts'
import type { Clock } from '../lib/clock.ts'

/** A request that only lacks its signature. */
export interface SignableRequest {
  method: string
  url: string
  headers: HeaderMap
  body: string
}

export type HeaderMap = Readonly<Record<string, string>>

/** Gives the tokens of service accounts. */
export interface TokenSource {
  getToken(
    account: ServiceAccount,
    endpoint: Pick<SignInContext, 'tokenUrl' | 'allowPrivate'>,
  ): Promise<string>
}

/** What a scheme may need besides the request and the credential. */
export interface SignInContext {
  clock: Clock
  tokenSource: TokenSource
  /** The header a token goes into. */
  keyHeader: string
  /** Of signatures of AWS. */
  service: string
  region: string
  /** Where a service account gets its tokens. */
  tokenUrl: string
  allowPrivate: readonly string[]
}

/** Signing in did not work. The message holds nothing of the credential. */
export class SignInError extends Error {}
