import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { Permission, PermissionSet } from './permissions.ts'
import type { Role } from './roles.ts'

/** The permissions of a caller, and their places. */
export interface Grant {
  /** Permissions in the whole organization. */
  readonly everywhere: PermissionSet
  /** Permissions for all records of single workspaces. */
  readonly workspaces: ReadonlyMap<string, PermissionSet>
  /** Permissions for the records that the member created there. */
  readonly own: { userId: string; workspaces: ReadonlyMap<string, PermissionSet> } | null
}

/** The part of an organization in which a caller has one permission. */
export interface Scope {
  readonly permission: Permission | null
  readonly everywhere: boolean
  readonly workspaceIds: ReadonlySet<string>
  /** Records that this member created in these workspaces. */
  readonly own: { readonly userId: string; readonly workspaceIds: ReadonlySet<string> } | null
}

export const noScope: Scope = { permission: null, everywhere: false, workspaceIds: new Set(), own: null }

/** A role, and the workspace it is assigned in; null: the organization. */
export interface RoleAssignment {
  role: Pick<Role, 'permissions' | 'ownPermissions'>
  workspaceId: string | null
}

/** Roles of the organization apply in the member's workspaces too; only what a member created can be `own`. */
export function combineRoles(
  userId: string,
  assignments: readonly RoleAssignment[],
  workspaceIds: readonly string[],
): Grant {
  const everywhere = new Set<Permission>()
  const workspaces = new Map<string, Set<Permission>>()
  const own = new Map<string, Set<Permission>>()
  for (const { role, workspaceId } of assignments) {
    if (workspaceId === null) addAll(everywhere, role.permissions)
    else addAll(entryOf(workspaces, workspaceId), role.permissions)
    const places = workspaceId === null ? workspaceIds : [workspaceId]
    for (const id of places) addAll(entryOf(own, id), role.ownPermissions)
  }
  return { everywhere, workspaces, own: { userId, workspaces: own } }
}

function addAll(set: Set<Permission>, permissions: readonly Permission[]): void {
  for (const permission of permissions) set.add(permission)
}

function entryOf(map: Map<string, Set<Permission>>, id: string): Set<Permission> {
  const known = map.get(id)
  if (known) return known
  const created = new Set<Permission>()
  map.set(id, created)
  return created
}

export function resolveScope(grant: Grant, permission: Permission): Scope {
  const everywhere = grant.everywhere.has(permission)
  const own = grant.own && {
    userId: grant.own.userId,
    workspaceIds: listWorkspaces(grant.own.workspaces, permission),
  }
  return { permission, everywhere, workspaceIds: listWorkspaces(grant.workspaces, permission), own }
}

function listWorkspaces(map: ReadonlyMap<string, PermissionSet>, permission: Permission): Set<string> {
  return new Set([...map].filter(([, set]) => set.has(permission)).map(([id]) => id))
}

/** The facts of a record that decide who may act on it. */
export interface RecordPlace {
  /** Null for a record of the whole organization. */
  workspaceId: string | null
  /** The member who created it. */
  ownerId?: string | null
}

/** Whether a caller may act on a record. */
export function isWithinScope(scope: Scope, { workspaceId, ownerId }: RecordPlace): boolean {
  if (scope.everywhere) return true
  if (workspaceId === null) return false
  if (scope.workspaceIds.has(workspaceId)) return true
  return scope.own !== null && scope.own.userId === ownerId && scope.own.workspaceIds.has(workspaceId)
}

/** A reach as JSON. */
export interface StoredScope {
  everywhere: boolean
  workspaceIds: string[]
  ownWorkspaceIds: string[]
}

export function toStoredScope({ everywhere, workspaceIds, own }: Scope): StoredScope {
  if (everywhere) return { everywhere, workspaceIds: [], ownWorkspaceIds: [] }
  return {
    everywhere,
    workspaceIds: [...workspaceIds],
    ownWorkspaceIds: own ? [...own.workspaceIds] : [],
  }
}

/** Whether a caller may still act wherever it could. */
export function isScopeWithin(stored: StoredScope, present: Scope): boolean {
  if (present.everywhere) return true
  if (stored.everywhere) return false
  const { workspaceIds, own } = present
  return (
    stored.workspaceIds.every((id) => workspaceIds.has(id)) &&
    stored.ownWorkspaceIds.every((id) => workspaceIds.has(id) || own?.workspaceIds.has(id))
  )
}

/** Throws unless the caller may act on the record. */
export function assertWithinScope(scope: Scope, record: RecordPlace): void {
  if (!isWithinScope(scope, record)) throw permissionMissingError(scope)
}

/**
 * The records of a workspace that the caller may see: null for all of them, or the member whose records they are.
 * Throws if there are none.
 */
export function resolveVisibleOwner(scope: Scope, workspaceId: string): string | null {
  if (isWithinScope(scope, { workspaceId })) return null
  if (scope.own?.workspaceIds.has(workspaceId)) return scope.own.userId
  throw permissionMissingError(scope)
}

function permissionMissingError({ permission }: Scope): GatewayError {
  const message = `This requires the permission ${permission} there. An admin of the organization can grant it.`
  return new GatewayError('permission_missing', { message, metadata: { permission } })
}

/** The grant of a role where it is assigned. Permissions for own records count as those for all. */
export function grantOfRole({ role, workspaceId }: RoleAssignment): Grant {
  const set = new Set<Permission>([...role.permissions, ...role.ownPermissions])
  return workspaceId === null
    ? { everywhere: set, workspaces: new Map(), own: null }
    : { everywhere: new Set(), workspaces: new Map([[workspaceId, set]]), own: null }
}

/** The grant of a workspace's members. Permissions for own records apply to those only. */
export function grantOfMembership(
  role: Pick<Role, 'permissions' | 'ownPermissions'>,
  workspaceId: string,
): Grant {
  return {
    everywhere: new Set(),
    workspaces: new Map([[workspaceId, new Set(role.permissions)]]),
    own: { userId: '', workspaces: new Map([[workspaceId, new Set(role.ownPermissions)]]) },
  }
}

/** A permission that `inner` has somewhere and `outer` has not; undefined if there is none. */
export function findExcess(inner: Grant, outer: Grant): Permission | undefined {
  const hasForAll = (permission: Permission, workspaceId = '') =>
    outer.everywhere.has(permission) || outer.workspaces.get(workspaceId)?.has(permission)
  const hasForOwn = (permission: Permission, workspaceId: string) =>
    hasForAll(permission, workspaceId) || outer.own?.workspaces.get(workspaceId)?.has(permission)
  for (const permission of inner.everywhere) if (!hasForAll(permission)) return permission
  return (
    findMissing(inner.workspaces, hasForAll) ?? findMissing(inner.own?.workspaces ?? new Map(), hasForOwn)
  )
}

function findMissing(
  places: ReadonlyMap<string, PermissionSet>,
  isGranted: (permission: Permission, workspaceId: string) => boolean | undefined,
): Permission | undefined {
  for (const [id, set] of places)
    for (const permission of set) if (!isGranted(permission, id)) return permission
  return undefined
}
