import type { Configuration } from 'openid-client'
import type { SsoClientAuth } from '../../platform/db/schema.ts'
import type { EgressOptions } from '../../platform/http/egress-client.ts'
import { findUrlProblem } from '../../platform/http/egress-policy.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { loadOidcClient } from './client.ts'
import type { JwksCache } from './jwks-cache.ts'
import { ProviderKeySet } from './key-set.ts'
import { createProviderFetch } from './provider-fetch.ts'

/** The identity of this gateway at a provider. */
export interface ProviderClient {
  /** Id of the connection. */
  id: string
  issuer: string
  client_id: string
  clientSecret: string
  client_auth: SsoClientAuth
}

/** A provider whose metadata is known. */
export interface OidcProvider {
  config: Configuration
  keys: ProviderKeySet
}

/** The reason why a provider cannot be used; safe to show to the admin who configured it. */
class ProviderProblem extends Error {}

interface CacheEntry {
  version: string
  provider: Promise<OidcProvider>
  expiresAt: number
}

const freshMs = 10 * 60_000
/** Visitors who reload a page cannot make us send a request each time to a provider that fails. */
const failedMs = 5000
const maxEntries = 1000

/** The providers of all connections, discovered when they are used. */
export class OidcProviders {
  readonly #clock: Clock
  readonly #egress: () => EgressOptions
  readonly #jwks: JwksCache
  readonly #entries = new Map<string, CacheEntry>()

  constructor(clock: Clock, egress: () => EgressOptions, jwks: JwksCache) {
    this.#clock = clock
    this.#egress = egress
    this.#jwks = jwks
  }

  /** `version` changes with the connection. */
  get(id: string, version: string, readClient: () => ProviderClient): Promise<OidcProvider> {
    const known = this.#entries.get(id)
    if (known?.version === version && known.expiresAt > this.#clock.now()) return known.provider
    const provider = this.discover(readClient())
    const entry = { version, provider, expiresAt: this.#clock.now() + freshMs }
    provider.catch(() => {
      entry.expiresAt = this.#clock.now() + failedMs
    })
    this.#entries.delete(id)
    this.#entries.set(id, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest)
    return provider
  }

  /** Throws a ProviderProblem if the metadata cannot be fetched or used. */
  async discover(client: ProviderClient): Promise<OidcProvider> {
    const oidc = await loadOidcClient()
    const authenticate =
      client.client_auth === 'client_secret_post' ? oidc.ClientSecretPost : oidc.ClientSecretBasic
    const config = await oidc
      .discovery(
        new URL(client.issuer),
        client.client_id,
        undefined,
        authenticate(client.clientSecret),
        // The egress client refuses http itself, except where the operator allows it.
        { [oidc.customFetch]: createProviderFetch(this.#egress), execute: [oidc.allowInsecureRequests] },
      )
      .catch((error: unknown) => {
        throw new ProviderProblem(`issuer: the metadata could not be read. ${describeFailure(error)}`)
      })
    const { id, issuer } = client
    const source = { id, issuer, jwks_uri: this.#assertUsable(config, client) }
    return { config, keys: new ProviderKeySet(this.#clock, this.#jwks, source) }
  }

  #assertUsable(config: Configuration, client: ProviderClient): string {
    const metadata = config.serverMetadata()
    if (metadata.issuer !== client.issuer) {
      throw new ProviderProblem(`issuer: the provider names itself ${metadata.issuer}; it must be the same.`)
    }
    for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
      const problem = findUrlProblem(URL.parse(metadata[name] ?? ''), this.#egress().allowPrivate)
      if (problem) throw new ProviderProblem(`The ${name} of the provider ${problem}.`)
    }
    if (metadata.code_challenge_methods_supported && !config.serverMetadata().supportsPKCE('S256')) {
      throw new ProviderProblem('The provider does not support PKCE with S256.')
    }
    return metadata.jwks_uri ?? ''
  }
}

/** The innermost message: those of our egress client are meant for users. */
export function describeFailure(error: unknown): string {
  let inner = error
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause instanceof Error; depth++)
    inner = inner.cause
  return inner instanceof Error ? inner.message.slice(0, 300) : 'The reason is unknown.'
}
