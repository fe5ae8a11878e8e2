import { createLocalJWKSet, type JWK, type JWSHeaderParameters } from 'jose'
import type { Clock } from '../lib/clock.ts'
import { EgressError, sendBuffered } from '../lib/egress-client.ts'
import { asObject, asObjects, asString } from '../lib/json-values.ts'

/** Where the public keys of an issuer are found. */
export interface KeySource {
  id: string
  issuer: string
  /** Null: named by the OpenID configuration of the issuer. */
  jwks_uri: string | null
}

/** The keys of an issuer could not be loaded. The message is safe to show to its organization. */
export class IssuerUnavailableError extends Error {}

/** How long keys are used before they are loaded again, and how long while that fails. */
const freshMs = 10 * 60_000
const staleMs = 60 * 60_000
/** Between two loads because of a key that is not known: a token costs nothing to forge. */
const unknownKeyMs = 30_000
/** After a failure. */
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

/** The public keys of issuers, cached. Concurrent requests share one load. */
export class IssuerKeys {
  readonly #clock: Clock
  readonly #cached = new Map<string, CachedKeys>()
  readonly #loading = new Map<string, Promise<CachedKeys>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The key that signed a token with this header; undefined if the issuer has none, or several that fit. */
  async find(
    source: KeySource,
    header: JWSHeaderParameters,
    allowPrivate: readonly string[],
  ): Promise<PublicKey | undefined> {
    const cached = await this.#get(source, allowPrivate, freshMs)
    const known = await match(cached, header)
    if (known || this.#clock.now() - cached.loadedAt < unknownKeyMs) return known
    return match(await this.#get(source, allowPrivate, unknownKeyMs), header)
  }

  async #get(source: KeySource, allowPrivate: readonly string[], maxAgeMs: number): Promise<CachedKeys> {
    // An organization that changes an address must not be served the keys of the previous one.
    const id = JSON.stringify([source.id, source.issuer, source.jwks_uri])
    const known = this.#cached.get(id)
    const now = this.#clock.now()
    if (known?.keys && now - known.loadedAt < maxAgeMs) return known
    if (known?.failure && now - known.failure.at < retryMs) return requireKeys(known, now)
    const running = this.#loading.get(id)
    if (running) return requireKeys(await running, now)
    const loading = this.#load(source, allowPrivate, known)
      .then((loaded) => this.#store(id, loaded))
      .finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return requireKeys(await loading, now)
  }

  async #load(
    source: KeySource,
    allowPrivate: readonly string[],
    known: CachedKeys | undefined,
  ): Promise<CachedKeys> {
    try {
      const uri = source.jwks_uri ?? (await discoverKeysUri(source.issuer, allowPrivate))
      const keys = asObjects((await fetchJson(uri, allowPrivate)).keys).slice(0, maxKeys)
      const usable = keys.flatMap((key) => toPublicJwk(key) ?? [])
      return { keys: createLocalJWKSet({ keys: usable }), loadedAt: this.#clock.now(), failure: null }
    } catch (error) {
      if (!(error instanceof EgressError || error instanceof IssuerUnavailableError)) throw error
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

/** While an issuer cannot be reached its last keys are used for some time. */
function requireKeys(cached: CachedKeys, now: number): CachedKeys {
  if (cached.keys && now - cached.loadedAt < staleMs) return cached
  throw new IssuerUnavailableError(cached.failure?.message ?? 'The keys are too old.')
}

async function match({ keys }: CachedKeys, header: JWSHeaderParameters): Promise<PublicKey | undefined> {
  try {
    return await keys?.(header)
  } catch {
    // No key fits, several do, or it is malformed.
    return undefined
  }
}

async function discoverKeysUri(issuer: string, allowPrivate: readonly string[]): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = await fetchJson(url, allowPrivate)
  if (document.issuer !== issuer)
    throw new IssuerUnavailableError('The OpenID configuration is that of another issuer.')
  const uri = asString(document.jwks_uri)
  if (uri === undefined) throw new IssuerUnavailableError('The OpenID configuration has no jwks_uri.')
  return uri
}

async function fetchJson(url: string, allowPrivate: readonly string[]): Promise<Record<string, unknown>> {
  const headers = { accept: 'application/json' }
  const response = await sendBuffered({ url, method: 'GET', headers }, { allowPrivate, timeoutMs, maxBytes })
  if (response.status !== 200) throw new IssuerUnavailableError(`The host replied ${response.status}.`)
  try {
    const document = asObject(JSON.parse(Buffer.from(response.bytes).toString('utf8')))
    if (document) return document
  } catch {
    // Below.
  }
  throw new IssuerUnavailableError('The reply is not a JSON object.')
}

/** Only public keys for signatures: the members of others are not even read. */
function toPublicJwk(key: Record<string, unknown>): JWK | undefined {
  const { kid, use, alg } = key
  const common = {
    ...(typeof kid === 'string' && { kid }),
    ...(typeof use === 'string' && { use }),
    ...(typeof alg === 'string' && { alg }),
  }
  if (key.kty === 'EC' && key.crv === 'P-256' && typeof key.x === 'string' && typeof key.y === 'string')
    return { kty: 'EC', crv: 'P-256', x: key.x, y: key.y, ...common }
  if (key.kty === 'RSA' && typeof key.n === 'string' && typeof key.e === 'string')
    return { kty: 'RSA', n: key.n, e: key.e, ...common }
  return undefined
}
