import type { Gateway } from '../gateway/gateway.ts'
import { infoOf, type Permission } from '../identity/permissions/permissions.ts'
import { GatewayError, toGatewayError } from '../platform/errors/gateway-error.ts'
import { networkOf } from '../platform/http/client-network.ts'
import { type Caller, callerIdOf } from './caller.ts'
import { resolveRequestSource } from './client-address.ts'

// The rates of what is not a request to a model. Each function throws a 429 beyond its limit.

/** Counts a request of an authenticated caller. */
export async function limitCaller(gateway: Gateway, caller: Caller, permission: Permission): Promise<void> {
  const { management_requests_per_minute, lookup_requests_per_minute } = gateway.settings.limits
  const { keys } = infoOf(permission)
  const isManagement = keys === 'management' || keys === 'none'
  const limit = isManagement ? management_requests_per_minute : lookup_requests_per_minute
  const name = `${isManagement ? 'management' : 'lookups'} ${callerIdOf(caller)}`
  const who = caller.session ? 'member' : 'key'
  const kind = isManagement ? 'management requests' : 'requests other than to models'
  await consume(gateway, name, limit, `At most ${limit} ${kind} per minute are allowed for one ${who}.`)
}

/** Counts a request of an identity provider. */
export async function limitScimToken(gateway: Gateway, tokenId: string): Promise<void> {
  const limit = gateway.settings.limits.lookup_requests_per_minute
  const message = `At most ${limit} requests per minute are allowed for one SCIM token.`
  await consume(gateway, `lookups SCIM ${tokenId}`, limit, message)
}

/** Counts a request that needs no credential. Requests of another kind, such as an operation, have their own count. */
export async function limitAnonymous(gateway: Gateway, request: Request, kind: string): Promise<void> {
  const limit = gateway.settings.limits.anonymous_requests_per_minute
  const message = `At most ${limit} requests of this kind without a key are allowed per minute from one address.`
  await consume(gateway, `anonymous ${kind} ${addressOf(gateway, request)}`, limit, message)
}

/** Requests whose path or body has a valid credential. */
const accepted = new WeakSet<Request>()

/** Marks the credential as valid: later failures are no attempt to guess one. */
export function acceptCredential(request: Request): void {
  accepted.add(request)
}

/**
 * The error of an operation that has its credential in the path or body. Only failures count for an address, and only
 * they are limited: what others send from the same address cannot keep a valid request from being served.
 */
export async function limitFailure(
  gateway: Gateway,
  request: Request,
  kind: string,
  failure: GatewayError,
): Promise<GatewayError> {
  const { status } = failure.row
  if (status >= 500 || status === 429 || accepted.has(request)) return failure
  const limit = gateway.settings.limits.failed_authentications_per_minute
  const message = `At most ${limit} failed requests of this kind are answered per minute from one address.`
  try {
    await consume(gateway, `failed ${kind} ${addressOf(gateway, request)}`, limit, message)
    return failure
  } catch (error) {
    return toGatewayError(error)
  }
}

/**
 * Counts a credential that was rejected; other failures pass. Only these count for an address, and only they are
 * limited: clients with a valid key behind the same address are not affected.
 */
export async function limitRejection(gateway: Gateway, request: Request, error: unknown): Promise<void> {
  if (!(error instanceof GatewayError) || error.row.status !== 401) return
  const limit = gateway.settings.limits.failed_authentications_per_minute
  const message = `Too many requests from this address have no valid key: at most ${limit} per minute are answered. Check the key.`
  await consume(gateway, `rejected ${addressOf(gateway, request)}`, limit, message)
}

function consume(
  { rateLimiter, clock }: Gateway,
  name: string,
  limit: number,
  message: string,
): void | Promise<void> {
  return rateLimiter.consume(name, limit, clock.now(), message)
}

function addressOf(gateway: Gateway, request: Request): string {
  return networkOf(resolveRequestSource(gateway, request).ip ?? '')
}
