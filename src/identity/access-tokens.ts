import type { JWK } from 'jose'
import { LoadingCache } from '../platform/concurrency/loading-cache.ts'
import type { RevisionReader } from '../platform/concurrency/revision-reader.ts'
import type { Vault } from '../platform/crypto/crypto.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import { newUuid } from '../platform/crypto/ids.ts'
import { loadJose } from '../platform/crypto/jose.ts'
import { staleMs, withUnavailableError } from '../platform/db/account-revision.ts'
import type { Db } from '../platform/db/db.ts'
import { asNumber, asString } from '../platform/json/json-values.ts'
import type { Clock } from '../platform/time/clock.ts'
import {
  isPublished,
  listSigningKeys,
  openPrivateKey,
  requireCurrentKey,
  type SigningKey,
  signingAlgorithm,
} from './signing-keys.ts'

/** A workload that acts with an API key. */
export interface WorkloadIdentity {
  /** The `sub` of the token that it exchanged. */
  subject: string
  policyId: string
  keyId: number
}

interface NewToken extends WorkloadIdentity {
  /** The URL of this installation: who issues the token, and for whom. */
  issuer: string
  /** Seconds since the epoch. */
  expiresAt: number
}

interface VerifiedToken {
  identity: WorkloadIdentity
  kid: string
  expiresAtMs: number
}

export const accessTokenScope = 'inference'
const tokenType = 'at+jwt'
const maxTokenLength = 4096
const maxVerifiedTokens = 10_000

export interface PublicKey {
  kty: 'EC'
  crv: 'P-256'
  alg: 'ES256'
  use: 'sig'
  kid: string
  x: string
  y: string
}

interface AccessTokensDeps {
  db: Db
  clock: Clock
  vault: Vault
}

/** Signs and verifies the access tokens of workloads. Verified ones are cached until they expire. */
export class AccessTokens {
  readonly #deps: AccessTokensDeps
  readonly #keys: LoadingCache<null, SigningKey[]>
  /** The least recently used first. */
  readonly #verified = new Map<string, VerifiedToken>()

  constructor({ revisions, ...deps }: AccessTokensDeps & { revisions: RevisionReader }) {
    this.#deps = deps
    const load = () => withUnavailableError(listSigningKeys(deps.db))
    this.#keys = new LoadingCache({ revisions, staleMs, load })
  }

  async issue({ subject, policyId, keyId, issuer, expiresAt }: NewToken): Promise<string> {
    const key = await requireCurrentKey(this.#deps)
    const { importJWK, SignJWT } = await loadJose()
    const privateKey = await importJWK(openPrivateKey(this.#deps.vault, key), signingAlgorithm)
    return new SignJWT({ scope: accessTokenScope, client_id: policyId, key_id: keyId })
      .setProtectedHeader({ alg: signingAlgorithm, typ: tokenType, kid: key.kid })
      .setIssuer(issuer)
      .setAudience(issuer)
      .setSubject(subject)
      .setJti(newUuid())
      .setIssuedAt(Math.floor(this.#deps.clock.now() / 1000))
      .setExpirationTime(expiresAt)
      .sign(privateKey)
  }

  /** The identity of a valid token that `issuer` issued. */
  async verify(token: string, issuer: string): Promise<WorkloadIdentity | undefined> {
    const now = this.#deps.clock.now()
    const keys = await this.#listPublished(now)
    const hash = sha256(token)
    const known = this.#verified.get(hash)
    this.#verified.delete(hash)
    const verified = known ?? (await this.#verifySignature(token, issuer, keys, now))
    if (!verified || verified.expiresAtMs <= now || !keys.some(({ kid }) => kid === verified.kid))
      return undefined
    this.#verified.set(hash, verified)
    if (this.#verified.size > maxVerifiedTokens)
      this.#verified.delete(this.#verified.keys().next().value ?? '')
    return verified.identity
  }

  /** Lists the keys with which others verify tokens. */
  async listPublicKeys(): Promise<PublicKey[]> {
    return (await this.#listPublished(this.#deps.clock.now())).map(toPublicKey)
  }

  async #listPublished(now: number): Promise<SigningKey[]> {
    return (await this.#keys.get('', null)).filter((key) => isPublished(key, now))
  }

  async #verifySignature(
    token: string,
    issuer: string,
    keys: SigningKey[],
    now: number,
  ): Promise<VerifiedToken | undefined> {
    const { createLocalJWKSet, jwtVerify } = await loadJose()
    try {
      const { payload, protectedHeader } = await jwtVerify(
        token,
        createLocalJWKSet({ keys: keys.map((key) => ({ ...toPublicKey(key) })) }),
        {
          algorithms: [signingAlgorithm],
          typ: tokenType,
          issuer,
          audience: issuer,
          requiredClaims: ['exp'],
          currentDate: new Date(now),
        },
      )
      const [subject, policyId] = [asString(payload.sub), asString(payload.client_id)]
      const [keyId, exp, kid] = [asNumber(payload.key_id), payload.exp, protectedHeader.kid]
      if (subject === undefined || policyId === undefined || !keyId || !exp || !kid) return undefined
      return { identity: { subject, policyId, keyId }, kid, expiresAtMs: exp * 1000 }
    } catch {
      return undefined
    }
  }
}

/** Whether a credential claims to be an access token; it may also be an API key that a partner chose. */
export async function isAccessToken(credential: string): Promise<boolean> {
  if (credential.length > maxTokenLength) return false
  const { decodeProtectedHeader } = await loadJose()
  try {
    return decodeProtectedHeader(credential).typ === tokenType
  } catch {
    return false
  }
}

function toPublicKey({ kid, public_jwk }: SigningKey): PublicKey {
  const { x = '', y = '' } = JSON.parse(public_jwk) as JWK
  return { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid, x, y }
}
