import type { AccountCache } from '../gateway/account-cache.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { noScope, type Scope } from '../identity/permissions/grant.ts'
import type { Permission, ScopeLevel } from '../identity/permissions/permissions.ts'
import { authorize } from './authorize.ts'
import type { Caller } from './caller.ts'

interface KnownCaller {
  caller: Caller
  /** Version of the account data at authentication. */
  version: number
  expiresAt: number
}

const maxCallers = 10_000

const callers = new WeakMap<AccountCache, Map<string, KnownCaller>>()
const inferenceScopes = new WeakMap<Caller, Scope>()

/** The caller with this secret, if it was authenticated before and no account has changed since. */
export function recallCaller({ accounts, clock }: Gateway, secret: string): Caller | null {
  const known = callers.get(accounts)?.get(secret)
  if (!known || known.version !== accounts.version || known.expiresAt <= clock.now()) return null
  return known.caller
}

/** Stores a caller, unless the database is unavailable: then the data that authenticated it may have changed. */
export function rememberCaller(gateway: Gateway, secret: string, caller: Caller): void {
  const { key, session, workload } = caller
  // The secret of a key that was rotated may be its last one, which ends earlier than the key.
  if (session || workload || key.kind !== 'inference' || key.secret_hash !== null) return
  const { accounts } = gateway
  const { version } = accounts
  if (version === null || accounts.peekKey(secret) !== key) return
  const known = callers.get(accounts) ?? new Map<string, KnownCaller>()
  if (known.size >= maxCallers) known.clear()
  const expiresAt = key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at)
  callers.set(accounts, known.set(secret, { caller, version, expiresAt }))
  const scope = authorize(gateway, caller, 'inference:write')
  if (!(scope instanceof Promise)) inferenceScopes.set(caller, scope)
}

/** An operation that a caller may lack the permission for. */
interface PermittedOperation {
  permission: Permission | 'public'
  scope?: ScopeLevel | undefined
}

/** Where a caller may call an operation. For a caller of a model that was recalled, it is known. */
export function authorizeCaller(
  gateway: Gateway,
  caller: Caller | null,
  { permission, scope }: PermittedOperation,
): Scope | Promise<Scope> {
  if (!caller || permission === 'public') return noScope
  const known = permission === 'inference:write' && !scope && inferenceScopes.get(caller)
  return known || authorize(gateway, caller, permission, scope)
}
