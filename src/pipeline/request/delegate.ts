import { GatewayError } from '../../errors/gateway-error.ts'
import { findExcess, type Grant } from '../../permissions/grant.ts'
import { infoOf, type PermissionSet, permissionNames } from '../../permissions/permissions.ts'
import { grantOfKey } from './authorize.ts'
import type { Caller } from './caller.ts'

/** Throws if a caller would give others more than the caller has. */
export function assertMayDelegate(caller: Caller, granted: Grant): void {
  const permission = findExcess(granted, grantOfCaller(caller))
  if (permission === undefined) return
  const message = `You cannot grant the permission ${permission} there, because you do not have it there.`
  throw new GatewayError('permission_missing', { message, metadata: { permission } })
}

function grantOfCaller({ key, session }: Caller): Grant {
  if (session) return session.grant
  const { everywhere, workspaces } = grantOfKey(key)
  return {
    everywhere: withInference(everywhere),
    workspaces: new Map([...workspaces].map(([id, set]) => [id, withInference(set)])),
    own: null,
  }
}

/** A key that can create inference keys can do what they can do. */
function withInference(set: PermissionSet): PermissionSet {
  if (!set.has('keys:write')) return set
  return new Set([...set, ...permissionNames.filter((name) => infoOf(name).keys === 'inference')])
}
