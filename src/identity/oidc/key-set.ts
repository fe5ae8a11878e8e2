import type { JWTPayload, JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { loadJose } from '../../platform/crypto/jose.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { JwksCache, JwksSource } from './jwks-cache.ts'

/** Signatures with a key pair. Secrets shared with the provider, and none at all, prove nothing here. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
const clockToleranceSeconds = 60

/** The public keys of a provider. */
export class ProviderKeySet {
  readonly #clock: Clock
  readonly #jwks: JwksCache
  readonly #source: JwksSource

  constructor(clock: Clock, jwks: JwksCache, source: JwksSource) {
    this.#clock = clock
    this.#jwks = jwks
    this.#source = source
  }

  /** Throws unless the signature and the claims are valid. */
  async verify(token: string, options: JWTVerifyOptions): Promise<JWTVerifyResult<JWTPayload>> {
    const { jwtVerify } = await loadJose()
    return jwtVerify(token, (header) => this.#jwks.find(this.#source, header), {
      ...options,
      algorithms,
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(this.#clock.now()),
    })
  }

  /** Throws if the keys cannot be loaded now. */
  reload(): Promise<void> {
    return this.#jwks.reload(this.#source)
  }
}
