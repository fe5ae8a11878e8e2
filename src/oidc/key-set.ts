import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose'
import type { CustomFetch } from 'openid-client'
import type { Clock } from '../lib/clock.ts'

/** Signatures with a key pair. Secrets shared with the provider, and none at all, prove nothing here. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** Tokens with unknown key ids cannot make us fetch the keys more often. */
const minRefreshMs = 10_000
/** A key that the provider withdrew is not accepted for longer. */
const maxAgeMs = 10 * 60_000
const clockToleranceSeconds = 60

/** The public keys of a provider. They are fetched again when a token names a key that is not among them. */
export class ProviderKeySet {
  readonly #clock: Clock
  readonly #url: string
  readonly #request: CustomFetch
  #keys: ReturnType<typeof createLocalJWKSet> | null = null
  #fetchedAt = 0

  constructor(clock: Clock, url: string, request: CustomFetch) {
    this.#clock = clock
    this.#url = url
    this.#request = request
  }

  /** Throws unless the signature and the claims are valid. */
  async verify(token: string, options: JWTVerifyOptions): Promise<JWTVerifyResult<JWTPayload>> {
    const checks: JWTVerifyOptions = {
      ...options,
      algorithms,
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(this.#clock.now()),
    }
    try {
      return await jwtVerify(token, await this.#load(maxAgeMs), checks)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      return jwtVerify(token, await this.#load(minRefreshMs), checks)
    }
  }

  /** Fetches the keys. */
  async refresh(): Promise<void> {
    await this.#load(0)
  }

  async #load(maxAge: number): Promise<ReturnType<typeof createLocalJWKSet>> {
    if (this.#keys && this.#clock.now() - this.#fetchedAt < maxAge) return this.#keys
    const headers = { accept: 'application/json, application/jwk-set+json' }
    const response = await this.#request(this.#url, {
      method: 'GET',
      headers,
      body: undefined,
      redirect: 'manual',
    })
    if (response.status !== 200) throw new Error(`the keys of the provider: status ${response.status}`)
    this.#keys = createLocalJWKSet((await response.json()) as JSONWebKeySet)
    this.#fetchedAt = this.#clock.now()
    return this.#keys
  }
}
