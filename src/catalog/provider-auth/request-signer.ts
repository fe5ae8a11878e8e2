import type { Clock } from '../../platform/time/clock.ts'
import { type AuthOptions, authSchemes, findScheme, type SigningCredential } from './all.ts'
import {
  type AuthContext,
  type HeaderMap,
  ProviderAuthError,
  type SignableRequest,
  type Signer,
} from './scheme.ts'

type AnySigner = Signer<SigningCredential, AuthOptions>
type ProviderContext = AuthContext<AuthOptions | undefined>

/** Signs requests with credentials of every scheme. */
export class RequestSigner {
  readonly #signers: ReadonlyMap<string, AnySigner>

  constructor(clock: Clock) {
    this.#signers = new Map(authSchemes.map((scheme) => [scheme.kind, scheme.createSigner(clock)]))
  }

  /** The headers that authenticate the request. */
  sign(
    request: SignableRequest,
    credential: SigningCredential,
    context: ProviderContext,
  ): HeaderMap | Promise<HeaderMap> {
    return this.#signerOf(credential).sign(request, credential, assertAccepted(credential, context))
  }

  /** The headers that authenticate every request; null if they depend on the request, or change with time. */
  findHeaders(credential: SigningCredential, context: ProviderContext): HeaderMap | null {
    return findScheme(credential.kind).headersOf?.(credential, context) ?? null
  }

  /** Must be called after a 401: a cached token may have been revoked. */
  forgetToken(credential: SigningCredential, context: ProviderContext): void {
    this.#signerOf(credential).forgetToken?.(credential, assertAccepted(credential, context))
  }

  #signerOf({ kind }: SigningCredential): AnySigner {
    const signer = this.#signers.get(kind)
    if (!signer) throw new ProviderAuthError('Credentials of this kind cannot sign requests.')
    return signer
  }
}

function assertAccepted({ kind }: SigningCredential, context: ProviderContext): AuthContext<AuthOptions> {
  if (findScheme(kind).format && context.options?.scheme !== kind)
    throw new ProviderAuthError('The provider does not accept credentials of this kind.')
  // Schemes without a format have no options to read.
  return context as AuthContext<AuthOptions>
}
