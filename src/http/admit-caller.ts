import { authenticate } from '../access/authenticate.ts'
import type { Caller } from '../access/caller.ts'
import { limitAnonymous, limitCaller, limitFailure } from '../access/request-limits.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { GatewayError } from '../platform/errors/gateway-error.ts'
import { toClientError } from './error-response.ts'
import type { Operation } from './operation.ts'

/** The error of a request. One whose path or body was the credential counts as a failed attempt. */
export function toFailure(
  gateway: Gateway,
  request: Request,
  { id, hasOwnCredential }: Operation,
  error: unknown,
): GatewayError {
  const failure = toClientError(error)
  return hasOwnCredential ? limitFailure(gateway, request, id, failure) : failure
}

/** Null if the operation is public. Requests to models have limits of their own. */
export async function admitCaller(
  gateway: Gateway,
  request: Request,
  { id, permission, inference, hasOwnCredential }: Operation,
): Promise<Caller | null> {
  if (permission === 'public') {
    if (!hasOwnCredential) limitAnonymous(gateway, request, id)
    return null
  }
  const caller = await authenticate(gateway, request, inference !== undefined)
  if (!inference) limitCaller(gateway, caller, permission)
  return caller
}
