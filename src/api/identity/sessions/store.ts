import type { Member } from '../../../identity/members.ts'
import type { Db } from '../../../platform/db/db.ts'

/** The workspaces of a member, and the role in each. */
export async function listMemberWorkspaces(db: Db, member: Member) {
  return db
    .selectFrom('workspace_members')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_members.workspace_id')
    .select(['workspaces.id', 'workspaces.slug', 'workspaces.name', 'workspace_members.role'])
    .where('workspace_members.user_id', '=', member.id)
    .where('workspaces.deleted_at', 'is', null)
    .orderBy('workspaces.created_at')
    .orderBy('workspaces.id')
    .execute()
}

/** The roles that are assigned in addition to those of organization and workspaces. */
export async function listAssignedRoles(db: Db, member: Member) {
  return db
    .selectFrom('role_assignments')
    .select(['role_id', 'workspace_id'])
    .where('organization_id', '=', member.organization_id)
    .where('user_id', '=', member.id)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}
