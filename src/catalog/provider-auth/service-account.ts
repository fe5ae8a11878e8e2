import { z } from 'zod'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { loadJose } from '../../platform/crypto/jose.ts'
import { sendBuffered } from '../../platform/http/egress-client.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asString } from '../../platform/json/json-values.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { settingPatterns } from '../provider-settings.ts'
import { credentialField } from './credential-field.ts'
import { type AuthContext, type AuthScheme, ProviderAuthError } from './scheme.ts'

export interface ServiceAccount {
  kind: 'service-account'
  clientEmail: string
  privateKey: string
  privateKeyId?: string | undefined
  project: string
  region?: string | undefined
}

interface ServiceAccountOptions {
  scheme: 'service-account'
  /** The URL that exchanges an assertion of the account for a token. */
  tokenUrl: string
}

/** The vendor's own: an assertion is sent nowhere else. */
const googleTokenUrls = ['https://oauth2.googleapis.com/token', 'https://accounts.google.com/o/oauth2/token']

const schema = z
  .looseObject({
    type: z.literal('service_account'),
    project_id: credentialField.regex(settingPatterns.project, 'must be the id of a project'),
    private_key_id: credentialField.optional(),
    private_key: z.string().max(16384).startsWith('-----BEGIN ', 'must be a private key in PEM'),
    client_email: credentialField,
    token_uri: z.enum(googleTokenUrls, `must be ${googleTokenUrls[0]}`).optional(),
    region: credentialField
      .regex(settingPatterns.region, 'must be a region such as europe-west1, or global')
      .optional(),
    bucket: credentialField.optional(),
  })
  .transform(
    (account): ServiceAccount => ({
      kind: 'service-account',
      clientEmail: account.client_email,
      privateKey: account.private_key,
      privateKeyId: account.private_key_id,
      project: account.project_id,
      region: account.region,
    }),
  )

const overrideFields = {
  /** The URL that exchanges the assertions of service accounts, instead of the vendor's. */
  token_url: z.url({ protocol: /^https?$/ }).optional(),
}

/** Service accounts of Google Cloud, which sign assertions and exchange them for tokens. */
export const serviceAccount: AuthScheme<ServiceAccount, ServiceAccountOptions, typeof overrideFields> = {
  kind: 'service-account',
  format: {
    label: 'the token of a service account',
    schema,
    settingsOf: ({ project, region }) => ({ project, ...(region && { region }) }),
    overrides: {
      fields: overrideFields,
      apply: (options, { token_url }) => (token_url ? { ...options, tokenUrl: token_url } : options),
    },
  },
  listSecrets: ({ privateKey }) => [privateKey],
  identifierOf: ({ privateKeyId, privateKey }) => privateKeyId ?? privateKey,
  createSigner: (clock) => {
    const tokens = new AccessTokenCache(clock)
    return {
      async sign(_request, account, context) {
        const token = await tokens.getToken(account, tokenEndpointOf(context))
        return { authorization: `Bearer ${token}` }
      },
      forgetToken: (account, { options }) => tokens.invalidate(account, options.tokenUrl),
    }
  },
}

/** A token for an account as its key file describes it, for requests that are not sent to a provider. */
export async function fetchServiceAccountToken(
  keyFile: unknown,
  endpoint: TokenEndpoint = { tokenUrl: googleTokenUrls[0] ?? '', allowPrivate: [] },
): Promise<string> {
  const account = schema.safeParse(keyFile)
  if (!account.success) throw new ProviderAuthError('The key file is not that of a service account.')
  const assertion = await signAssertion(account.data, endpoint.tokenUrl, Date.now())
  return (await exchangeAssertion(assertion, endpoint)).token
}

interface TokenEndpoint {
  tokenUrl: string
  allowPrivate: readonly string[]
}

function tokenEndpointOf({ options, allowPrivate }: AuthContext<ServiceAccountOptions>): TokenEndpoint {
  return { tokenUrl: options.tokenUrl, allowPrivate }
}

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const algorithm = 'RS256'
/** The vendor's maximum lifetime of an assertion. */
const assertionSeconds = 3600
/** The share of its lifetime after which a token is replaced, while it is still valid. */
const refreshShare = 0.8
/** Milliseconds between attempts to replace a token that is still valid. */
const refreshRetryMs = 10_000
const maxCachedTokens = 1000
const exchangeTimeoutMs = 10_000
const maxResponseBytes = 64 * 1024

interface AccessToken {
  token: string
  refreshAt: number
  expiresAt: number
}

/** Access tokens of service accounts, cached until they expire. */
class AccessTokenCache {
  readonly #clock: Clock
  readonly #tokens = new Map<string, AccessToken>()
  readonly #pending = new Map<string, Promise<string>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Concurrent requests for one account share one exchange. */
  async getToken(account: ServiceAccount, endpoint: TokenEndpoint): Promise<string> {
    const cacheKey = computeCacheKey(account, endpoint.tokenUrl)
    const cached = this.#tokens.get(cacheKey)
    const now = this.#clock.now()
    if (cached && now < cached.refreshAt) return cached.token
    const pending = this.#requestToken(cacheKey, account, endpoint)
    if (!cached || now >= cached.expiresAt) return pending
    cached.refreshAt = now + refreshRetryMs
    // The cached token is still valid: a failed exchange is reported only once it has expired.
    pending.catch(() => undefined)
    return cached.token
  }

  /** The provider rejected the token: the next request exchanges a new assertion. */
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

/** Includes the private key, so that knowing the name of an account does not give access to its token. */
function computeCacheKey({ clientEmail, privateKey }: ServiceAccount, tokenUrl: string): string {
  return sha256([tokenUrl, clientEmail, privateKey].join('\n'))
}

async function signAssertion(account: ServiceAccount, tokenUrl: string, now: number): Promise<string> {
  const { importPKCS8, SignJWT } = await loadJose()
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
    throw new ProviderAuthError('The private key of the service account cannot be used.')
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
  if (!response)
    throw new ProviderAuthError(
      'The service account could not be authenticated: its token endpoint did not respond.',
    )
  const body = response.status === 200 ? parseJsonObject(response.bytes) : undefined
  const token = asString(body?.access_token)
  const seconds = Number(body?.expires_in)
  if (!token || !(seconds > 0))
    throw new ProviderAuthError(
      `The token endpoint rejected the service account (status ${response.status}).`,
    )
  return { token, seconds }
}

function parseJsonObject(bytes: Uint8Array) {
  return asObject(tryParseJson(new TextDecoder().decode(bytes)))
}
