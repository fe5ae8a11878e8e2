import { toWorkspaceRole } from '../identity/members.ts'
import { findExcess, type Grant, grantOfMembership, grantOfRole } from '../identity/permissions/grant.ts'
import {
  infoOf,
  keyPermissions,
  type PermissionSet,
  permissionNames,
} from '../identity/permissions/permissions.ts'
import { organizationRoles, workspaceRoles } from '../identity/permissions/roles.ts'
import { findDefaultWorkspace } from '../identity/workspaces.ts'
import type { Db } from '../platform/db/db.ts'
import type { OrganizationRole } from '../platform/db/schema.ts'
import { GatewayError } from '../platform/errors/gateway-error.ts'
import { grantOfKey } from './authorize.ts'
import type { Caller } from './caller.ts'

/** Throws if a caller would give others more than the caller has. */
export function assertMayDelegate(caller: Caller, granted: Grant): void {
  const permission = findExcess(granted, grantOfCaller(caller))
  if (permission === undefined) return
  const message = `You cannot grant the permission ${permission} there, because you do not have it there.`
  throw new GatewayError('permission_missing', { message, metadata: { permission } })
}

/** Rejects a change of an admin's role by a caller without all permissions: it grants or revokes everything. */
export function assertMayChangeRole(caller: Caller, ...roles: OrganizationRole[]): void {
  if (roles.includes('org:admin')) assertMayGrantAll(caller)
}

export function assertMayGrantAll(caller: Caller): void {
  assertMayDelegate(caller, grantOfRole({ role: organizationRoles['org:admin'], workspaceId: null }))
}

/** A new member of a workspace has the role there that follows from the role in the organization. */
export function assertMayAddToWorkspace(
  caller: Caller,
  workspaceId: string,
  ...roles: OrganizationRole[]
): void {
  for (const role of new Set(roles.map(toWorkspaceRole)))
    assertMayDelegate(caller, grantOfMembership(workspaceRoles[role], workspaceId))
}

/**
 * A new member of the organization joins its default workspace. Without one, the member joins the next that is created, so
 * the permissions are needed everywhere.
 */
export async function assertMayAddMember(tx: Db, caller: Caller, role: OrganizationRole): Promise<void> {
  assertMayDelegate(caller, grantOfRole({ role: organizationRoles[role], workspaceId: null }))
  const workspace = await findDefaultWorkspace(tx, caller.organizationId)
  if (workspace) return assertMayAddToWorkspace(caller, workspace.id, role)
  const membership = workspaceRoles[toWorkspaceRole(role)]
  assertMayDelegate(caller, grantOfRole({ role: membership, workspaceId: null }))
}

/** A workload can do what an inference key can do. */
export function assertMayIssueTokens(caller: Caller): void {
  assertMayDelegate(caller, { everywhere: keyPermissions.inference, workspaces: new Map(), own: null })
}

function grantOfCaller({ key, session }: Caller): Grant {
  if (session) return session.grant
  const { everywhere, workspaces } = grantOfKey(key)
  return {
    everywhere: withImplied(everywhere),
    workspaces: new Map([...workspaces].map(([id, set]) => [id, withImplied(set)])),
    own: null,
  }
}

/** A key that can create inference keys can do what they can do. Every member has the permissions that no key has. */
function withImplied(set: PermissionSet): PermissionSet {
  const implied = set.has('keys:write') ? ['inference', 'none'] : ['none']
  return new Set([...set, ...permissionNames.filter((name) => implied.includes(infoOf(name).keys))])
}
