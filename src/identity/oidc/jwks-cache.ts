import type { createLocalJWKSet, JWK, JWSHeaderParameters } from 'jose'
import { loadJose } from '../../platform/crypto/jose.ts'
import { EgressError, type EgressOptions, sendBuffered } from '../../platform/http/egress-client.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asObjects, asString } from '../../platform/json/json-values.ts'
import type { Clock } from '../../platform/time/clock.ts'

/** The source of an issuer's public keys. */
export interface JwksSource {
  /** Id of the record that names the issuer: organizations do not share cache entries. */
  id: string
  issuer: string
  /** Null: named by the OpenID configuration of the issuer. */
  jwks_uri: string | null
  /** Time for which keys are used while they cannot be loaded again. */
  staleMs?: number
}

/** The keys of an issuer could not be loaded. The message is safe to show to its organization. */
export class JwksUnavailableError extends Error {}

/** A key that the issuer withdrew is not accepted for longer. */
const freshMs = 10 * 60_000
/** Time between two loads because of a key that is not known: a token costs nothing to forge. */
const unknownKeyMs = 10_000
/** Delay after a failure. */
const retryMs = 10_000
const timeoutMs = 5000
const maxBytes = 256 * 1024
const maxKeys = 100
const maxIssuers = 1000

type KeySet = ReturnType<typeof createLocalJWKSet>
type PublicKey = Awaited<ReturnType<KeySet>>

interface CachedKeys {
  keys: KeySet | null
  loadedAt: number
  failure: { at: number; message: string } | null
}

/** The public keys of issuers (JSON Web Key Sets), cached. Concurrent requests share one load. */
export class JwksCache {
  readonly #clock: Clock
  readonly #egress: () => EgressOptions
  readonly #cached = new Map<string, CachedKeys>()
  readonly #loading = new Map<string, Promise<CachedKeys>>()

  constructor(clock: Clock, egress: () => EgressOptions) {
    this.#clock = clock
    this.#egress = egress
  }

  /** The key that verifies a token with this header. Throws if the issuer has none, or several that fit. */
  async find(source: JwksSource, header: JWSHeaderParameters): Promise<PublicKey> {
    const { errors } = await loadJose()
    try {
      return await this.#match(source, header, freshMs)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      return this.#match(source, header, unknownKeyMs)
    }
  }

  /** Loads the keys, even if they are cached. */
  async reload(source: JwksSource): Promise<void> {
    const { failure } = await this.#share(source)
    if (failure) throw new JwksUnavailableError(failure.message)
  }

  async #match(source: JwksSource, header: JWSHeaderParameters, maxAgeMs: number): Promise<PublicKey> {
    const { keys, loadedAt, failure } = await this.#get(source, maxAgeMs)
    const isUsable = this.#clock.now() - loadedAt < Math.max(freshMs, source.staleMs ?? 0)
    if (!keys || !isUsable) throw new JwksUnavailableError(failure?.message ?? 'The keys are too old.')
    return keys(header)
  }

  async #get(source: JwksSource, maxAgeMs: number): Promise<CachedKeys> {
    const known = this.#cached.get(idOf(source))
    const now = this.#clock.now()
    if (known?.keys && now - known.loadedAt < maxAgeMs) return known
    if (known?.failure && now - known.failure.at < retryMs) return known
    return this.#share(source)
  }

  #share(source: JwksSource): Promise<CachedKeys> {
    const id = idOf(source)
    const running = this.#loading.get(id)
    if (running) return running
    const loading = this.#load(source, this.#cached.get(id))
      .then((loaded) => this.#store(id, loaded))
      .finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return loading
  }

  async #load(source: JwksSource, known: CachedKeys | undefined): Promise<CachedKeys> {
    const { createLocalJWKSet } = await loadJose()
    try {
      const uri = source.jwks_uri ?? (await discoverJwksUri(source.issuer, this.#egress()))
      const keys = asObjects((await fetchJson(uri, this.#egress())).keys).slice(0, maxKeys)
      const usable = keys.flatMap((key) => toPublicJwk(key) ?? [])
      return { keys: createLocalJWKSet({ keys: usable }), loadedAt: this.#clock.now(), failure: null }
    } catch (error) {
      if (!(error instanceof EgressError || error instanceof JwksUnavailableError)) throw error
      const failure = { at: this.#clock.now(), message: error.message }
      return { keys: known?.keys ?? null, loadedAt: known?.loadedAt ?? 0, failure }
    }
  }

  #store(id: string, loaded: CachedKeys): CachedKeys {
    this.#cached.delete(id)
    this.#cached.set(id, loaded)
    if (this.#cached.size > maxIssuers) this.#cached.delete(this.#cached.keys().next().value ?? '')
    return loaded
  }
}

/** An organization that changes an address must not be served the keys of the previous one. */
function idOf({ id, issuer, jwks_uri }: JwksSource): string {
  return JSON.stringify([id, issuer, jwks_uri])
}

async function discoverJwksUri(issuer: string, egress: EgressOptions): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = await fetchJson(url, egress)
  if (document.issuer !== issuer)
    throw new JwksUnavailableError('The OpenID configuration is that of another issuer.')
  const uri = asString(document.jwks_uri)
  if (uri === undefined) throw new JwksUnavailableError('The OpenID configuration has no jwks_uri.')
  return uri
}

async function fetchJson(url: string, egress: EgressOptions): Promise<Record<string, unknown>> {
  const headers = { accept: 'application/json, application/jwk-set+json', 'accept-encoding': 'identity' }
  const response = await sendBuffered({ url, method: 'GET', headers }, { ...egress, timeoutMs, maxBytes })
  if (response.status !== 200) throw new JwksUnavailableError(`The host replied ${response.status}.`)
  const document = asObject(tryParseJson(Buffer.from(response.bytes).toString('utf8')))
  if (document) return document
  throw new JwksUnavailableError('The reply is not a JSON object.')
}

/** Members of a public key, by key type. */
const publicMembers: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['RSA', ['n', 'e']],
  ['EC', ['crv', 'x', 'y']],
  ['OKP', ['crv', 'x']],
])

/** Converts a public key for signatures; the members of other keys are not even read. */
function toPublicJwk(key: Record<string, unknown>): JWK | undefined {
  const required = publicMembers.get(key.kty)
  if (!required?.every((name) => typeof key[name] === 'string')) return undefined
  const members = [...required, 'kty', 'kid', 'use', 'alg'].filter((name) => typeof key[name] === 'string')
  return Object.fromEntries(members.map((name) => [name, key[name]]))
}
