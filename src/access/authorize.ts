import type { Gateway } from '../gateway/gateway.ts'
import type { ApiKey } from '../identity/keys.ts'
import { findOperatorOrganization } from '../identity/organizations.ts'
import {
  type Grant,
  isWithinScope,
  noScope,
  resolveScope,
  type Scope,
} from '../identity/permissions/grant.ts'
import {
  infoOf,
  isPermission,
  keyPermissions,
  type Permission,
  type PermissionSet,
  type ScopeLevel,
} from '../identity/permissions/permissions.ts'
import { decodeList } from '../platform/db/values.ts'
import { GatewayError } from '../platform/errors/gateway-error.ts'
import type { Caller } from './caller.ts'

/**
 * Throws unless the caller has the permission somewhere; the handler enforces where. Only what the operator alone may do
 * needs a query.
 */
export function authorize(
  gateway: Gateway,
  caller: Caller,
  permission: Permission,
  requiredLevel?: ScopeLevel,
): Scope | Promise<Scope> {
  const scope = scopeOf(caller, permission)
  const { scope: level, operatorOnly } = infoOf(permission)
  if (!isSufficient(scope, requiredLevel ?? level) || !coversWorkspace(caller, scope, permission))
    throw permissionMissingError(caller, permission)
  return operatorOnly ? requireOperator(gateway, caller, permission, scope) : scope
}

/** Whether the caller has a permission that only the operator has. */
export async function mayOperate(gateway: Gateway, caller: Caller, permission: Permission): Promise<boolean> {
  return scopeOf(caller, permission).everywhere && (await isOperator(gateway, caller))
}

async function isOperator({ db }: Gateway, { organizationId }: Caller): Promise<boolean> {
  return (await findOperatorOrganization(db))?.id === organizationId
}

async function requireOperator(
  gateway: Gateway,
  caller: Caller,
  permission: Permission,
  scope: Scope,
): Promise<Scope> {
  if (await isOperator(gateway, caller)) return scope
  const remedy = 'Only the organization that operates this installation has it.'
  throw createError('permission_missing', permission, remedy)
}

function isSufficient({ everywhere, workspaceIds, own }: Scope, level: ScopeLevel): boolean {
  if (everywhere) return true
  if (level === 'organization') return false
  return workspaceIds.size > 0 || (level === 'own' && own !== null && own.workspaceIds.size > 0)
}

/** The requests of a session that an inference key could make need the permission in their workspace. */
function coversWorkspace({ key, session, userId }: Caller, scope: Scope, permission: Permission): boolean {
  const { keys, scope: level } = infoOf(permission)
  if (!session || keys !== 'inference') return true
  const ownerId = level === 'own' ? userId : null
  return isWithinScope(scope, { workspaceId: key.workspace_id, ownerId })
}

/** The scope of a caller's permission, which may be empty. */
export function scopeOf({ key, session }: Caller, permission: Permission): Scope {
  if (session) return resolveScope(session.grant, permission)
  if (!keyPermissions[key.kind].has(permission)) return noScope
  if (key.kind === 'inference') {
    return { permission, everywhere: false, workspaceIds: new Set([key.workspace_id]), own: null }
  }
  return resolveScope(grantOfKey(key), permission)
}

/** Computes the grant of a management key. */
export function grantOfKey(key: Pick<ApiKey, 'permissions' | 'workspace_ids'>): Grant {
  const all = keyPermissions.management
  const named = decodeList<string>(key.permissions)?.filter(isPermission)
  const set: PermissionSet = named ? new Set(named.filter((name) => all.has(name))) : all
  const workspaceIds = decodeList<string>(key.workspace_ids)
  if (!workspaceIds) return { everywhere: set, workspaces: new Map(), own: null }
  return { everywhere: new Set(), workspaces: new Map(workspaceIds.map((id) => [id, set])), own: null }
}

/** Names the permission, and the remedy. */
export function permissionMissingError({ key, session }: Caller, permission: Permission): GatewayError {
  const { keys } = infoOf(permission)
  if (session || keyPermissions[key.kind].has(permission))
    return createError('permission_missing', permission, 'An admin of the organization can grant it.')
  return createError('wrong_key_kind', permission, keyRemedies[keys])
}

const keyRemedies = {
  inference: 'Use an inference key.',
  management: 'Use a management key.',
  any: 'Use an inference key or a management key.',
  none: 'Only a member who is signed in has it, not an API key.',
}

function createError(
  code: 'permission_missing' | 'wrong_key_kind',
  permission: Permission,
  remedy: string,
): GatewayError {
  const message = `This operation requires the permission ${permission}. ${remedy}`
  return new GatewayError(code, { message, metadata: { permission } })
}
