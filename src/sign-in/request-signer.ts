import type { Clock } from '../lib/clock.ts'
import { findScheme, type SignInOptions, type SigningCredential, signInSchemes } from './all.ts'
import {
  type HeaderMap,
  type SignableRequest,
  type Signer,
  type SignInContext,
  SignInError,
} from './scheme.ts'

type AnySigner = Signer<SigningCredential, SignInOptions>
type ProviderContext = SignInContext<SignInOptions | undefined>

/** Signs requests with credentials of every scheme. */
export class RequestSigner {
  readonly #signers: ReadonlyMap<string, AnySigner>

  constructor(clock: Clock) {
    this.#signers = new Map(signInSchemes.map((scheme) => [scheme.kind, scheme.createSigner(clock)]))
  }

  /** The headers that authenticate the request. */
  sign(
    request: SignableRequest,
    credential: SigningCredential,
    context: ProviderContext,
  ): HeaderMap | Promise<HeaderMap> {
    return this.#signerOf(credential).sign(request, credential, assertAccepted(credential, context))
  }

  /** To be called after a 401: a cached token may have been revoked. */
  forgetToken(credential: SigningCredential, context: ProviderContext): void {
    this.#signerOf(credential).forgetToken?.(credential, assertAccepted(credential, context))
  }

  #signerOf({ kind }: SigningCredential): AnySigner {
    const signer = this.#signers.get(kind)
    if (!signer) throw new SignInError('Credentials of this kind cannot sign requests.')
    return signer
  }
}

function assertAccepted({ kind }: SigningCredential, context: ProviderContext): SignInContext<SignInOptions> {
  if (findScheme(kind).format && context.options?.scheme !== kind)
    throw new SignInError('The provider does not accept credentials of this kind.')
  // Schemes without a format have no options to read.
  return context as SignInContext<SignInOptions>
}
