import type { Db } from '../platform/db/db.ts'
import type { Member } from './members.ts'
import { combineRoles, type Grant, type RoleAssignment } from './permissions/grant.ts'
import { additionalRoles, organizationRoles, workspaceRoles } from './permissions/roles.ts'
import { decodePermissions } from './roles.ts'

/** Loads the grant of a member: the sum of the roles in organization and workspaces. */
export async function loadMemberGrant(db: Db, member: Member): Promise<Grant> {
  const [memberships, assigned] = await Promise.all([
    listMemberships(db, member),
    listAssignments(db, member),
  ])
  const assignments: RoleAssignment[] = [
    { role: organizationRoles[member.role], workspaceId: null },
    ...memberships.map(({ id, role }) => ({ role: workspaceRoles[role], workspaceId: id })),
    ...assigned,
  ]
  const workspaceIds = memberships.map(({ id }) => id)
  return combineRoles(member.id, assignments, workspaceIds)
}

async function listMemberships(db: Db, member: Member) {
  return db
    .selectFrom('workspace_members')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_members.workspace_id')
    .select(['workspaces.id', 'workspace_members.role'])
    .where('workspace_members.user_id', '=', member.id)
    .where('workspaces.deleted_at', 'is', null)
    .execute()
}

/** Lists the assignments of roles that still exist. */
async function listAssignments(db: Db, member: Member): Promise<RoleAssignment[]> {
  const rows = await db
    .selectFrom('role_assignments')
    .leftJoin('roles', (join) =>
      join
        .onRef('roles.id', '=', 'role_assignments.role_id')
        .onRef('roles.organization_id', '=', 'role_assignments.organization_id'),
    )
    .select(['role_assignments.role_id', 'role_assignments.workspace_id'])
    .select(['roles.permissions', 'roles.own_permissions'])
    .where('role_assignments.organization_id', '=', member.organization_id)
    .where('role_assignments.user_id', '=', member.id)
    .execute()
  return rows.flatMap(({ role_id, workspace_id, permissions, own_permissions }) => {
    const role = additionalRoles.find(({ id }) => id === role_id) ?? {
      permissions: decodePermissions(permissions),
      ownPermissions: decodePermissions(own_permissions),
    }
    return [{ role, workspaceId: workspace_id }]
  })
}
