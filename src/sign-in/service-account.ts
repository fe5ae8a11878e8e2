import { importPKCS8, SignJWT } from 'jose'
import type { ServiceAccount } from '../catalogue/credential.ts'
import type { Clock } from '../lib/clock.ts'
import { sha256 } from '../lib/crypto.ts'
import { sendBuffered } from '../lib/egress-client.ts'
import { asObject, asString } from '../lib/json-values.ts'
import { type HeaderMap, type SignInContext, SignInError } from './context.ts'

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const algorithm = 'RS256'
/** The longest an assertion may be good for. */
const assertionSeconds = 3600
/** After this share of its life a token is replaced, while the old one still serves. */
const refreshShare = 0.8
/** When that fails it is not tried again for this long. */
const refreshRetryMs = 10_000
const maxCachedTokens = 1000
const exchangeTimeoutMs = 10_000
const maxResponseBytes = 64 * 1024

interface AccessToken {
  token: string
  refreshAt: number
  expiresAt: number
}

type TokenEndpoint = Pick<SignInContext, 'tokenUrl' | 'allowPrivate'>

/** Tokens that service accounts were given, for as long as they last. */
export class AccessTokenCache {
  readonly #clock: Clock
  readonly #tokens = new Map<string, AccessToken>()
  readonly #pending = new Map<string, Promise<string>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Who asks while a token is on its way waits for the same one. */
  async getToken(account: ServiceAccount, endpoint: TokenEndpoint): Promise<string> {
    const cacheKey = computeCacheKey(account, endpoint.tokenUrl)
    const cached = this.#tokens.get(cacheKey)
    const now = this.#clock.now()
    if (cached && now < cached.refreshAt) return cached.token
    const pending = this.#requestToken(cacheKey, account, endpoint)
    if (!cached || now >= cached.expiresAt) return pending
    cached.refreshAt = now + refreshRetryMs
    // The old one still serves; the failure of this exchange is told when it does no longer.
    pending.catch(() => undefined)
    return cached.token
  }

  /** The token was refused: the next request asks for another. */
  invalidate(account: ServiceAccount, tokenUrl: string): void {
    this.#tokens.delete(computeCacheKey(account, tokenUrl))
  }

  #requestToken(cacheKey: string, account: ServiceAccount, endpoint: TokenEndpoint): Promise<string> {
    const running = this.#pending.get(cacheKey)
    if (running) return running
    const pending = this.#fetchToken(cacheKey, account, endpoint).finally(() =>
      this.#pending.delete(cacheKey),
    )
    this.#pending.set(cacheKey, pending)
    return pending
  }

  async #fetchToken(cacheKey: string, account: ServiceAccount, endpoint: TokenEndpoint): Promise<string> {
    const now = this.#clock.now()
    const { token, seconds } = await exchangeAssertion(
      await signAssertion(account, endpoint.tokenUrl, now),
      endpoint,
    )
    const life = seconds * 1000
    this.#tokens.delete(cacheKey)
    this.#tokens.set(cacheKey, { token, refreshAt: now + life * refreshShare, expiresAt: now + life })
    if (this.#tokens.size > maxCachedTokens) this.#tokens.delete(this.#tokens.keys().next().value ?? '')
    return token
  }
}

/** Whoever has the private key is the account. */
function computeCacheKey({ clientEmail, privateKey }: ServiceAccount, tokenUrl: string): string {
  return sha256([tokenUrl, clientEmail, privateKey].join('\n'))
}

async function signAssertion(account: ServiceAccount, tokenUrl: string, now: number): Promise<string> {
  try {
    const key = await importPKCS8(account.privateKey, algorithm)
    const issued = Math.floor(now / 1000)
    return await new SignJWT({ scope })
      .setProtectedHeader({
        alg: algorithm,
        typ: 'JWT',
        ...(account.privateKeyId !== undefined && { kid: account.privateKeyId }),
      })
      .setIssuer(account.clientEmail)
      .setAudience(tokenUrl)
      .setIssuedAt(issued)
      .setExpirationTime(issued + assertionSeconds)
      .sign(key)
  } catch {
    throw new SignInError('The private key of the service account cannot be used.')
  }
}

async function exchangeAssertion(
  assertion: string,
  { tokenUrl, allowPrivate }: TokenEndpoint,
): Promise<{ token: string; seconds: number }> {
  const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
  const response = await sendBuffered(
    {
      url: tokenUrl,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    },
    { allowPrivate, timeoutMs: exchangeTimeoutMs, maxBytes: maxResponseBytes },
  ).catch(() => null)
  if (!response) throw new SignInError('The service account could not be signed in: no answer.')
  const body = response.status === 200 ? parseJsonObject(response.bytes) : undefined
  const token = asString(body?.access_token)
  const seconds = Number(body?.expires_in)
  if (!token || !(seconds > 0))
    throw new SignInError(`The service account was not signed in (status ${response.status}).`)
  return { token, seconds }
}

function parseJsonObject(bytes: Uint8Array) {
  try {
    return asObject(JSON.parse(new TextDecoder().decode(bytes)))
  } catch {
    return undefined
  }
}

export async function signWithServiceAccount(
  account: ServiceAccount,
  context: SignInContext,
): Promise<HeaderMap> {
  const token = await context.tokenSource.getToken(account, context)
  return { authorization: `Bearer ${token}` }
}
