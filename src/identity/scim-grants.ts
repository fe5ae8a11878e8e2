import { sql } from 'kysely'
import { newUuid } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import type { Flag, OrganizationRole, WorkspaceRole } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

/** The memberships to update: all of an organization, or those of some workspaces or members. */
export interface GrantScope {
  organizationId: string
  workspaceIds?: string[]
  userIds?: string[]
}

interface Grant {
  workspace_id: string
  user_id: string
  role: WorkspaceRole
  organization_role: OrganizationRole
}

interface Membership extends Grant {
  id: string
  is_manual: Flag
  is_default: Flag
}

interface MembershipDiff {
  missing: Grant[]
  /** Row ids. */
  ended: string[]
  changed: Record<WorkspaceRole, string[]>
}

/** Rows per statement: well below the number of parameters that either database accepts. */
const rowsPerStatement = 500

/**
 * Decides who is in a workspace because of an identity provider. A membership exists if it is manual, if the
 * workspace is the default one, or if a mapping of SCIM or single sign-on grants it to an active member; its role is
 * the highest of the organization role and the mappings. SCIM decides alone about the members it provisions in the
 * workspaces it has mappings for. Call it, with the organization locked, after changing any of these.
 */
export async function applyGrants(tx: Db, clock: Clock, scope: GrantScope): Promise<void> {
  for (const part of splitScope(scope)) {
    const { missing, ended, changed } = await diffMemberships(tx, part)
    for (const ids of splitIntoChunks(ended, rowsPerStatement)) await endMemberships(tx, ids)
    await setRoles(tx, changed)
    for (const grants of splitIntoChunks(missing, rowsPerStatement)) await insertGrants(tx, clock, grants)
  }
}

/** Applies a changed organization role, which neither creates nor ends a membership. */
export async function applyRoles(tx: Db, scope: GrantScope): Promise<void> {
  for (const part of splitScope(scope)) await setRoles(tx, (await diffMemberships(tx, part)).changed)
}

/** The given users whose membership in the workspace is granted by a mapping. */
export async function listGrantedUsers(
  tx: Db,
  organizationId: string,
  workspaceId: string,
  userIds: string[],
): Promise<string[]> {
  const grants = await loadGrants(tx, { organizationId, workspaceIds: [workspaceId], userIds })
  return grants.map((grant) => grant.user_id)
}

export function* splitIntoChunks<T>(list: T[], size: number): Generator<T[]> {
  for (let start = 0; start < list.length; start += size) yield list.slice(start, start + size)
}

function* splitScope(scope: GrantScope): Generator<GrantScope> {
  if (scope.workspaceIds?.length === 0) return
  if (!scope.userIds) yield scope
  else for (const userIds of splitIntoChunks(scope.userIds, rowsPerStatement)) yield { ...scope, userIds }
}

async function diffMemberships(tx: Db, scope: GrantScope): Promise<MembershipDiff> {
  const granted = new Map((await loadGrants(tx, scope)).map((grant) => [keyOf(grant), grant]))
  const diff: MembershipDiff = { missing: [], ended: [], changed: { admin: [], member: [] } }
  for (const membership of await loadMemberships(tx, scope)) {
    const grant = granted.get(keyOf(membership))
    granted.delete(keyOf(membership))
    if (!grant && !membership.is_manual && !membership.is_default) diff.ended.push(membership.id)
    else {
      const role = resolveRole(membership.organization_role, grant?.role)
      if (role !== membership.role) diff.changed[role].push(membership.id)
    }
  }
  diff.missing = [...granted.values()]
  return diff
}

function keyOf(grant: Pick<Grant, 'workspace_id' | 'user_id'>): string {
  return `${grant.workspace_id} ${grant.user_id}`
}

function resolveRole(organizationRole: OrganizationRole, granted: WorkspaceRole | undefined): WorkspaceRole {
  return organizationRole === 'org:admin' || granted === 'admin' ? 'admin' : 'member'
}

/** One for each member and workspace, with the highest role. */
async function loadGrants(tx: Db, scope: GrantScope): Promise<Grant[]> {
  const grants = new Map<string, Grant>()
  for (const grant of [...(await loadScimGrants(tx, scope)), ...(await loadSsoGrants(tx, scope))]) {
    const known = grants.get(keyOf(grant))
    if (known?.role !== 'admin') grants.set(keyOf(grant), grant)
  }
  return [...grants.values()]
}

async function loadScimGrants(tx: Db, scope: GrantScope): Promise<Grant[]> {
  let query = tx
    .selectFrom('scim_group_mappings as mapping')
    .innerJoin('scim_group_members as entry', 'entry.group_id', 'mapping.scim_group_id')
    .innerJoin('scim_users', 'scim_users.id', 'entry.scim_user_id')
    .innerJoin('members', 'members.id', 'scim_users.user_id')
    // 'admin' sorts before 'member', so the minimum is the highest role.
    .select(sql<WorkspaceRole>`min(mapping.role)`.as('role'))
    .select(['mapping.workspace_id', 'members.id as user_id', 'members.role as organization_role'])
    .where('mapping.organization_id', '=', scope.organizationId)
    .where('members.active', '=', 1)
    .groupBy(['mapping.workspace_id', 'members.id', 'members.role'])
  if (scope.workspaceIds) query = query.where('mapping.workspace_id', 'in', scope.workspaceIds)
  if (scope.userIds) query = query.where('members.id', 'in', scope.userIds)
  return query.execute()
}

/** Loads grants from the mappings that members matched when they signed in last. */
async function loadSsoGrants(tx: Db, scope: GrantScope): Promise<Grant[]> {
  let query = tx
    .selectFrom('sso_mappings as mapping')
    .innerJoin('sso_mapping_members as entry', 'entry.mapping_id', 'mapping.id')
    .innerJoin('members', 'members.id', 'entry.user_id')
    .select(sql<WorkspaceRole>`min(mapping.role)`.as('role'))
    .select(['members.id as user_id', 'members.role as organization_role'])
    .select((eb) => eb.ref('mapping.workspace_id').$notNull().as('workspace_id'))
    .where('mapping.organization_id', '=', scope.organizationId)
    .where('mapping.role', 'in', ['admin', 'member'])
    .where('mapping.workspace_id', 'is not', null)
    .where('members.active', '=', 1)
    .where(({ not, and, exists, selectFrom }) => {
      const user = selectFrom('scim_users').select('id').whereRef('user_id', '=', 'members.id')
      const scimMapping = selectFrom('scim_group_mappings')
        .select('id')
        .whereRef('scim_group_mappings.workspace_id', '=', 'mapping.workspace_id')
      return not(and([exists(user), exists(scimMapping)]))
    })
    .groupBy(['mapping.workspace_id', 'members.id', 'members.role'])
  if (scope.workspaceIds) query = query.where('mapping.workspace_id', 'in', scope.workspaceIds)
  if (scope.userIds) query = query.where('members.id', 'in', scope.userIds)
  return query.execute()
}

async function loadMemberships(tx: Db, scope: GrantScope): Promise<Membership[]> {
  let query = tx
    .selectFrom('workspace_members as membership')
    .innerJoin('workspaces', 'workspaces.id', 'membership.workspace_id')
    .innerJoin('members', 'members.id', 'membership.user_id')
    .select(['membership.id', 'membership.workspace_id', 'membership.user_id', 'membership.role'])
    .select(['membership.is_manual', 'workspaces.is_default', 'members.role as organization_role'])
    .where('workspaces.organization_id', '=', scope.organizationId)
  if (scope.workspaceIds) query = query.where('membership.workspace_id', 'in', scope.workspaceIds)
  if (scope.userIds) query = query.where('membership.user_id', 'in', scope.userIds)
  return query.execute()
}

async function setRoles(tx: Db, changed: MembershipDiff['changed']): Promise<void> {
  for (const role of ['admin', 'member'] as const) {
    for (const ids of splitIntoChunks(changed[role], rowsPerStatement)) {
      await tx.updateTable('workspace_members').set({ role }).where('id', 'in', ids).execute()
    }
  }
}

/** Ends memberships, with the roles of the members in these workspaces and their authorization codes. */
async function endMemberships(tx: Db, ids: string[]): Promise<void> {
  for (const table of ['auth_codes', 'role_assignments'] as const) {
    await tx
      .deleteFrom(table)
      .where((eb) =>
        eb.exists(
          eb
            .selectFrom('workspace_members as membership')
            .select('membership.id')
            .where('membership.id', 'in', ids)
            .whereRef('membership.workspace_id', '=', `${table}.workspace_id`)
            .whereRef('membership.user_id', '=', `${table}.user_id`),
        ),
      )
      .execute()
  }
  await tx.deleteFrom('workspace_members').where('id', 'in', ids).execute()
}

async function insertGrants(tx: Db, clock: Clock, grants: Grant[]): Promise<void> {
  await tx
    .insertInto('workspace_members')
    .values(
      grants.map((grant) => ({
        id: newUuid(),
        workspace_id: grant.workspace_id,
        user_id: grant.user_id,
        role: resolveRole(grant.organization_role, grant.role),
        is_manual: 0 as const,
        created_at: isoNow(clock),
      })),
    )
    .execute()
}
