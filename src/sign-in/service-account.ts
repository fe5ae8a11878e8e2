import { importPKCS8, SignJWT } from 'jose'
import type { ServiceAccount } from '../catalog/credential.ts'
import type { Clock } from '../lib/clock.ts'
import { deliver } from '../lib/deliver.ts'
import { objectOf, textOf } from '../lib/loose.ts'
import { sha256 } from '../lib/secret.ts'
import { type HeaderMap, type Means, SignInError } from './scheme.ts'

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const algorithm = 'RS256'
/** The longest an assertion may be good for. */
const assertionSeconds = 3600
/** After this share of its life a token is replaced, while the old one still serves. */
const refreshAt = 0.8
/** When that fails it is not tried again for this long. */
const patienceMs = 10_000
const mostGrants = 1000
const exchangeMs = 10_000
const maxAnswerBytes = 64 * 1024

interface Grant {
  token: string
  refreshAt: number
  expiresAt: number
}

type Exchange = Pick<Means, 'tokenUrl' | 'allowPrivate'>

/** Tokens that service accounts were given, for as long as they last. */
export class Grants {
  readonly #clock: Clock
  readonly #grants = new Map<string, Grant>()
  readonly #asking = new Map<string, Promise<string>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Who asks while a token is on its way waits for the same one. */
  async tokenFor(account: ServiceAccount, exchange: Exchange): Promise<string> {
    const name = nameOf(account, exchange.tokenUrl)
    const grant = this.#grants.get(name)
    const now = this.#clock.now()
    if (grant && now < grant.refreshAt) return grant.token
    const asking = this.#ask(name, account, exchange)
    if (!grant || now >= grant.expiresAt) return asking
    grant.refreshAt = now + patienceMs
    // The old one still serves; the failure of this exchange is told when it does no longer.
    asking.catch(() => undefined)
    return grant.token
  }

  /** The token was refused: the next request asks for another. */
  forget(account: ServiceAccount, tokenUrl: string): void {
    this.#grants.delete(nameOf(account, tokenUrl))
  }

  #ask(name: string, account: ServiceAccount, exchange: Exchange): Promise<string> {
    const running = this.#asking.get(name)
    if (running) return running
    const asking = this.#exchange(name, account, exchange).finally(() => this.#asking.delete(name))
    this.#asking.set(name, asking)
    return asking
  }

  async #exchange(name: string, account: ServiceAccount, exchange: Exchange): Promise<string> {
    const now = this.#clock.now()
    const { token, seconds } = await exchanged(await assertion(account, exchange.tokenUrl, now), exchange)
    const life = seconds * 1000
    this.#grants.delete(name)
    this.#grants.set(name, { token, refreshAt: now + life * refreshAt, expiresAt: now + life })
    if (this.#grants.size > mostGrants) this.#grants.delete(this.#grants.keys().next().value ?? '')
    return token
  }
}

/** Whoever has the private key is the account. */
function nameOf({ clientEmail, privateKey }: ServiceAccount, tokenUrl: string): string {
  return sha256([tokenUrl, clientEmail, privateKey].join('\n'))
}

async function assertion(account: ServiceAccount, tokenUrl: string, now: number): Promise<string> {
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

async function exchanged(
  assertion: string,
  { tokenUrl, allowPrivate }: Exchange,
): Promise<{ token: string; seconds: number }> {
  const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
  const answer = await deliver(
    {
      url: tokenUrl,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    },
    { allowPrivate, timeoutMs: exchangeMs, maxBytes: maxAnswerBytes },
  ).catch(() => null)
  if (!answer) throw new SignInError('The service account could not be signed in: no answer.')
  const body = answer.status === 200 ? parsed(answer.bytes) : undefined
  const token = textOf(body?.access_token)
  const seconds = Number(body?.expires_in)
  if (!token || !(seconds > 0))
    throw new SignInError(`The service account was not signed in (status ${answer.status}).`)
  return { token, seconds }
}

function parsed(bytes: Uint8Array) {
  try {
    return objectOf(JSON.parse(new TextDecoder().decode(bytes)))
  } catch {
    return undefined
  }
}

export async function signWithServiceAccount(account: ServiceAccount, means: Means): Promise<HeaderMap> {
  const token = await means.grants.tokenFor(account, means)
  return { authorization: `Bearer ${token}` }
}
