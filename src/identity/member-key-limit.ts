import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import { isWithinScope, type Scope } from './permissions/grant.ts'

interface KeyLimitSettings {
  oauth: { member_key_limit: bigint | null }
}

/**
 * The most that a key may spend over its lifetime, in nano-dollars, if the caller may manage only keys they created in this
 * workspace; null for no limit.
 */
export function resolveMaxKeyLimit(
  { oauth }: KeyLimitSettings,
  scope: Scope,
  workspaceId: string,
): bigint | null {
  return isWithinScope(scope, { workspaceId }) ? null : oauth.member_key_limit
}

interface RequestedLimit {
  /** Undefined if the caller did not choose one. */
  limit: bigint | null | undefined
  reset: string | null | undefined
  /** Field of the body for the interval after which the limit resets. */
  resetField: 'limit_reset' | 'usage_limit_type'
}

/** The limit of a new or changed key: a member with a maximum gets a limit that does not reset. */
export function resolveKeyLimit(
  max: bigint | null,
  { limit, reset, resetField }: RequestedLimit,
): bigint | null {
  if (max === null) return limit ?? null
  if (reset !== undefined && reset !== null) {
    throw invalidFieldError(
      resetField,
      'is not allowed: the limit of your role applies to the lifetime of the key',
    )
  }
  if (limit === undefined) return max
  if (limit !== null && limit <= max) return limit
  throw invalidFieldError('limit', `must be at most ${usdFromNanos(max)} for your role`)
}
