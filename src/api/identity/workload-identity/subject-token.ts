import type { JWSHeaderParameters, JWTPayload } from 'jose'
import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { JwksUnavailableError } from '../../../identity/oidc/jwks-cache.ts'
import { loadJose } from '../../../platform/crypto/jose.ts'
import { meetsCondition, type SubjectClaims } from './claims.ts'
import { maxSubjectLength } from './policies.ts'
import { algorithmsOf, type Issuer, type Policy } from './store.ts'

/** The reason why a token was rejected. It appears only in the audit log of the organization. */
export class Refusal extends Error {
  /** The subject, once the signature proved it. */
  readonly subject: string | null

  constructor(reason: string, subject: string | null = null) {
    super(reason)
    this.subject = subject
  }
}

export interface SubjectToken {
  subject: string
  /** Seconds since the epoch. */
  expiresAt: number
}

/**
 * Tolerance between the clocks of issuer and gateway, for tokens that begin to be valid. None for those that expired.
 */
const skewSeconds = 60
const maxScopes = 100
/** Jobs keep running while their issuer cannot be reached. */
const staleMs = 60 * 60_000

/** Tokens for other purposes (of logout, of DPoP, of security events) have other types. */
const acceptedTypes = ['jwt', 'at+jwt']

/** Headers that name or contain a key, or change how a signature is verified. */
const refusedHeaders = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'x5t', 'x5t#S256', 'zip']

const seconds = z.number().min(0).max(1e11)

const claimsSchema = z.looseObject({
  sub: z
    .string()
    .min(1)
    .max(maxSubjectLength)
    .regex(/^\P{Cc}*$/u),
  aud: z.union([z.string(), z.tuple([z.string()]).transform(([only]) => only)]),
  exp: seconds,
  nbf: seconds.optional(),
  iat: seconds.optional(),
  scope: z.string().optional(),
  scp: z.union([z.string(), z.array(z.string()).max(maxScopes)]).optional(),
})

/** Throws a Refusal unless the issuer of the policy signed the token and it satisfies the policy. */
export async function verifySubjectToken(
  gateway: Gateway,
  { policy, issuer }: { policy: Policy; issuer: Issuer },
  token: string,
): Promise<SubjectToken> {
  const { header, payload } = await decode(token)
  // Before anything is loaded from an issuer: a token of another must not cause it.
  if (payload.iss !== issuer.issuer) throw new Refusal('issuer')
  const tokenType = assertHeader(issuer, header)
  await verifySignature(gateway, issuer, token, header)
  const parsed = claimsSchema.safeParse(payload)
  if (!parsed.success) throw new Refusal(`claim ${parsed.error.issues[0]?.path.join('.') ?? ''}`)
  const { sub, aud, exp, nbf = 0, iat = 0, scope, scp } = parsed.data
  const now = gateway.clock.now() / 1000
  if (exp <= now) throw new Refusal('expired', sub)
  if (Math.max(nbf, iat) > now + skewSeconds) throw new Refusal('not yet valid', sub)
  if (aud !== policy.audience) throw new Refusal('audience', sub)
  const scopes = listScopes(scp ?? scope ?? '')
  if (scopes.length > maxScopes) throw new Refusal('too many scopes', sub)
  assertRule(policy, { subject: sub, audience: aud, scopes, token_type: tokenType })
  return { subject: sub, expiresAt: Math.floor(exp) }
}

async function decode(token: string): Promise<{ header: JWSHeaderParameters; payload: JWTPayload }> {
  const { decodeJwt, decodeProtectedHeader } = await loadJose()
  try {
    return { header: decodeProtectedHeader(token), payload: decodeJwt(token) }
  } catch {
    throw new Refusal('not a JWT')
  }
}

function assertHeader(issuer: Issuer, header: JWSHeaderParameters): string {
  if (refusedHeaders.some((name) => name in header)) throw new Refusal('header')
  if (!algorithmsOf(issuer).includes(header.alg ?? '')) throw new Refusal('algorithm')
  if (header.kid !== undefined && typeof header.kid !== 'string') throw new Refusal('header')
  if (header.typ === undefined) return 'jwt'
  const type = String(header.typ)
    .toLowerCase()
    .replace(/^application\//, '')
  if (!acceptedTypes.includes(type)) throw new Refusal('type')
  return type
}

async function verifySignature(
  { identity: { jwks } }: Gateway,
  issuer: Issuer,
  token: string,
  header: JWSHeaderParameters,
): Promise<void> {
  const { id, issuer: url, jwks_uri } = issuer
  const key = await jwks.find({ id, issuer: url, jwks_uri, staleMs }, header).catch((error: unknown) => {
    throw error instanceof JwksUnavailableError ? error : new Refusal('unknown key')
  })
  const { compactVerify } = await loadJose()
  try {
    await compactVerify(token, key, { algorithms: algorithmsOf(issuer) })
  } catch {
    throw new Refusal('signature')
  }
}

function listScopes(scope: string | string[]): string[] {
  return typeof scope === 'string' ? scope.split(' ').filter((part) => part !== '') : scope
}

function assertRule(policy: Policy, claims: SubjectClaims): void {
  const { subject } = claims
  if (policy.subject === null && policy.condition === null) throw new Refusal('no rule', subject)
  if (policy.subject !== null && policy.subject !== subject) throw new Refusal('subject', subject)
  if (policy.condition !== null && !meetsCondition(policy.condition, claims))
    throw new Refusal('condition', subject)
}
