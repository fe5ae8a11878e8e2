import type { Gateway } from '../gateway/gateway.ts'
import type { WorkloadIdentity } from '../identity/access-tokens.ts'
import { type ApiKey, findKeyByHash, isRetiredSecret } from '../identity/keys.ts'
import { findMember } from '../identity/members.ts'
import type { Permission } from '../identity/permissions/permissions.ts'
import { findScimToken } from '../identity/scim-tokens.ts'
import { explainEndedSession } from '../identity/sessions.ts'
import { GatewayError, gatewayError } from '../platform/errors/gateway-error.ts'
import type { Caller } from './caller.ts'
import { recallCaller, rememberCaller } from './known-callers.ts'
import { limitAnonymous, limitCaller, limitRejection, limitScimToken } from './request-limits.ts'
import { authenticateSession, sessionTokenOf } from './session.ts'
import { authenticateWorkload, tokenPrefix } from './workload.ts'

/** Longer credentials are rejected without a lookup: no key is nearly this long. */
const maxCredentialLength = 512

/** An operation whose caller is to be known. */
interface CalledOperation {
  id: string
  permission: Permission | 'public'
  inference?: object | undefined
  hasOwnCredential?: boolean | undefined
}

/** Null if the operation is public. Requests to models have limits of their own. */
export async function admitCaller(
  gateway: Gateway,
  request: Request,
  { id, permission, inference, hasOwnCredential }: CalledOperation,
): Promise<Caller | null> {
  if (permission === 'public') {
    if (!hasOwnCredential) await limitAnonymous(gateway, request, id)
    return null
  }
  const caller = await authenticate(gateway, request, inference !== undefined)
  if (!inference) await limitCaller(gateway, caller, permission)
  return caller
}

/**
 * The first credential in the headers counts; if it is invalid the request is rejected, whatever the others are.
 * `allowCached` is for inference only: a change made by another process takes effect there a second later.
 */
export async function authenticate(gateway: Gateway, request: Request, allowCached = false): Promise<Caller> {
  const secret = readCredentialHeader(request.headers)
  const known = allowCached && secret !== undefined && recallCaller(gateway, secret)
  if (known) return known
  try {
    const caller = await identifyCaller(gateway, request, secret, allowCached)
    if (allowCached && secret !== undefined) rememberCaller(gateway, secret, caller)
    return caller
  } catch (error) {
    await limitRejection(gateway, request, error)
    throw error
  }
}

function identifyCaller(
  gateway: Gateway,
  request: Request,
  secret: string | undefined,
  allowCached: boolean,
): Promise<Caller> {
  if (secret === undefined) return requireSession(gateway, request)
  if (secret.startsWith(tokenPrefix)) return authenticateToken(gateway, secret, allowCached)
  return authenticateSecret(gateway, secret, allowCached)
}

async function requireSession(gateway: Gateway, request: Request): Promise<Caller> {
  const caller = await authenticateSession(gateway, request)
  if (caller) return caller
  const token = sessionTokenOf(gateway, request)
  if (token === null) throw gatewayError('credential_missing')
  throw gatewayError('session_ended', `${await explainEndedSession(gateway, token)} Sign in again.`)
}

/** A key may begin as an access token does. */
async function authenticateToken(gateway: Gateway, secret: string, allowCached: boolean): Promise<Caller> {
  const found = await authenticateWorkload(gateway, secret, allowCached)
  return found
    ? requireCaller(gateway, found.key, found.workload)
    : authenticateSecret(gateway, secret, allowCached)
}

async function authenticateSecret(gateway: Gateway, secret: string, allowCached: boolean): Promise<Caller> {
  if (!isPlausible(secret)) throw gatewayError('credential_invalid')
  const { accounts } = gateway
  const key = await (allowCached ? accounts.findKey(secret) : accounts.findCurrentKey(secret))
  if (key && isRetiredSecret(key, secret, gateway.clock.now())) {
    throw gatewayError(
      'credential_invalid',
      'The key was rotated: this secret is no longer valid. Use the new one.',
    )
  }
  return requireCaller(gateway, key)
}

/** Authenticates a URL that was issued for a key, and is valid as long as the key. */
export async function authenticateByHash(gateway: Gateway, hash: string): Promise<Caller> {
  const key = await findKeyByHash(gateway.db, hash)
  return requireCaller(gateway, key)
}

/** A key that is known, but no longer valid. */
export class RejectedKeyError extends GatewayError {
  readonly key: ApiKey

  constructor(code: 'key_disabled' | 'key_expired', key: ApiKey) {
    super(code)
    this.key = key
  }
}

/** An identity provider: acts for the whole organization, at /scim/v2 only. */
export interface ScimCaller {
  organizationId: string
  tokenId: string
  tokenName: string
}

export async function authenticateScim(gateway: Gateway, request: Request): Promise<ScimCaller> {
  try {
    const caller = await identifyScimCaller(gateway, request)
    await limitScimToken(gateway, caller.tokenId)
    return caller
  } catch (error) {
    await limitRejection(gateway, request, error)
    throw error
  }
}

async function identifyScimCaller(gateway: Gateway, request: Request): Promise<ScimCaller> {
  const secret = readBearer(request.headers)
  if (!secret) {
    throw gatewayError(
      'credential_missing',
      'No SCIM token was sent. Send one as "Authorization: Bearer <SCIM token>".',
    )
  }
  const token = isPlausible(secret) ? await findScimToken(gateway.db, secret) : undefined
  if (!token) throw gatewayError('credential_invalid', 'The SCIM token is not valid.')
  return { organizationId: token.organization_id, tokenId: token.id, tokenName: token.name }
}

/** The key headers of the Messages format, of Azure and of Gemini. */
const keyHeaders = ['x-api-key', 'api-key', 'x-goog-api-key']

/** Whether any credential was sent, valid or not. */
export function hasCredential({ headers }: Request): boolean {
  return ['authorization', ...keyHeaders].some((name) => headers.has(name))
}

function readCredentialHeader(headers: Headers): string | undefined {
  const bearer = readBearer(headers)
  if (bearer !== '') return bearer
  return keyHeaders.map((name) => headers.get(name)?.trim() ?? '').find((value) => value !== '')
}

function readBearer(headers: Headers): string {
  return /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''
}

function isPlausible(secret: string): boolean {
  return secret.length <= maxCredentialLength
}

function requireCaller(
  gateway: Gateway,
  key: ApiKey | undefined,
  workload: WorkloadIdentity | null = null,
): Caller | Promise<Caller> {
  if (!key) throw gatewayError('credential_invalid')
  assertUsable(gateway, key)
  const { organization_id: organizationId, creator_user_id: userId } = key
  const caller = { key, organizationId, userId, session: null, workload }
  if (key.kind !== 'management' || key.creator_user_id === null) return caller
  return findActiveCreator(gateway, key).then((userId) => ({ ...caller, userId }))
}

/** A management key stays valid when its creator is deactivated; what it creates then has no creator. */
async function findActiveCreator(gateway: Gateway, key: ApiKey): Promise<string | null> {
  const creator = await findMember(gateway.db, key.organization_id, key.creator_user_id ?? '')
  return creator?.active ? creator.id : null
}

function assertUsable({ clock }: Gateway, key: ApiKey): void {
  if (key.disabled || key.suspended) throw new RejectedKeyError('key_disabled', key)
  if (key.expires_at !== null && Date.parse(key.expires_at) <= clock.now())
    throw new RejectedKeyError('key_expired', key)
}
