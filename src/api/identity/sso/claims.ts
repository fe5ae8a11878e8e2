import type { SsoConnection } from '../../../identity/sign-in-rules.ts'
import { claimNamesOf, type SsoMapping } from '../../../identity/sso-connections.ts'
import type { SsoPerson } from '../../../identity/sso-identities.ts'
import { toSingleLine } from '../../../platform/validation/name-schema.ts'

export type Claims = Readonly<Record<string, unknown>>

const maxNameLength = 200
const maxDepth = 10

/** A claim by its name, which may contain dots, or by the path to it. */
function readClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.', maxDepth)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value
}

/** Reads a boolean: some providers send it as text or a number. */
function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === 1 || value === '1'
}

function readText(claims: Claims, name: string): string | null {
  const value = readClaim(claims, name)
  return typeof value === 'string' && value !== '' ? value : null
}

function readName(claims: Claims, name: string): string | null {
  return toSingleLine(readText(claims, name)?.slice(0, maxNameLength) ?? '') || null
}

export function readPerson(connection: SsoConnection, subject: string, claims: Claims): SsoPerson {
  const names = claimNamesOf(connection)
  return {
    subject,
    email: readText(claims, names.email),
    isEmailVerified: isTrue(readClaim(claims, names.email_verified)),
    firstName: readName(claims, names.given_name),
    lastName: readName(claims, names.family_name),
  }
}

/** Null if the provider left the claim out because it is too long, which says nothing about its values. */
export function matchMapping(claims: Claims, { claim, value }: SsoMapping): boolean | null {
  const found = readClaim(claims, claim)
  if (found === undefined && isDistributed(claims, claim)) return null
  return [found]
    .flat()
    .some((item) => ['string', 'number', 'boolean'].includes(typeof item) && String(item) === value)
}

/** OpenID Connect Core 5.6.2: the claim is at another place, which is not read. */
function isDistributed({ _claim_names: names }: Claims, claim: string): boolean {
  return typeof names === 'object' && names !== null && Object.hasOwn(names, claim)
}
