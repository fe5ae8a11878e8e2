import { newUuid } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { additionalRoles } from './permissions/roles.ts'
import { applyGrants, splitIntoChunks } from './scim-grants.ts'
import { listMappings, type SsoMapping } from './sso-connections.ts'

const rowsPerStatement = 100

interface GrantedRole {
  user_id: string
  role_id: string
  workspace_id: string | null
}

/** The members whose roles and workspaces follow from the mappings: some of them, or all. */
export interface SsoScope {
  organizationId: string
  userIds?: string[]
}

/** Replaces what a member has through a connection by what the claims of this sign-in say. */
export async function setMatchedMappings(
  tx: Db,
  userId: string,
  connectionId: string,
  matches: (mapping: SsoMapping) => boolean | null,
): Promise<void> {
  const mappings = await listMappings(tx, [connectionId])
  // Null: this sign-in does not say.
  const known = mappings.filter((mapping) => matches(mapping) !== null).map(({ id }) => id)
  for (const ids of splitIntoChunks(known, rowsPerStatement)) {
    await tx
      .deleteFrom('sso_mapping_members')
      .where('user_id', '=', userId)
      .where('mapping_id', 'in', ids)
      .execute()
  }
  const rows = mappings
    .filter((mapping) => matches(mapping))
    .map(({ id }) => ({ mapping_id: id, user_id: userId }))
  for (const chunk of splitIntoChunks(rows, rowsPerStatement))
    await tx.insertInto('sso_mapping_members').values(chunk).execute()
}

/** Brings workspaces and roles in line with the mappings. Call it with the organization locked. */
export async function applySsoGrants(tx: Db, clock: Clock, scope: SsoScope): Promise<void> {
  await applyGrants(tx, clock, scope)
  await applyRoleAssignments(tx, clock, scope)
}

/** Changes only the assignments that single sign-on made. */
async function applyRoleAssignments(tx: Db, clock: Clock, scope: SsoScope): Promise<void> {
  const wanted = new Map((await loadGrantedRoles(tx, scope)).map((role) => [keyOf(role), role]))
  const ended: string[] = []
  for (const assignment of await loadAssignments(tx, scope)) {
    if (!wanted.delete(keyOf(assignment))) ended.push(assignment.id)
  }
  for (const ids of splitIntoChunks(ended, rowsPerStatement))
    await tx.deleteFrom('role_assignments').where('id', 'in', ids).execute()
  const rows = [...wanted.values()].map((role) => ({
    ...role,
    id: newUuid(),
    organization_id: scope.organizationId,
    source: 'oidc' as const,
    created_at: isoNow(clock),
  }))
  for (const chunk of splitIntoChunks(rows, rowsPerStatement))
    await tx.insertInto('role_assignments').values(chunk).execute()
}

function keyOf({ user_id, role_id, workspace_id }: GrantedRole): string {
  return `${user_id} ${role_id} ${workspace_id ?? ''}`
}

async function loadGrantedRoles(tx: Db, { organizationId, userIds }: SsoScope): Promise<GrantedRole[]> {
  const mapped = await tx
    .selectFrom('sso_mappings')
    .innerJoin('sso_mapping_members', 'sso_mapping_members.mapping_id', 'sso_mappings.id')
    .select(['sso_mapping_members.user_id', 'sso_mappings.role as role_id', 'sso_mappings.workspace_id'])
    .where('sso_mappings.organization_id', '=', organizationId)
    .where('sso_mappings.role', 'not in', ['admin', 'member'])
    .$if(userIds !== undefined, (query) => query.where('sso_mapping_members.user_id', 'in', userIds ?? []))
    .execute()
  const defaults = await tx
    .selectFrom('sso_identities')
    .innerJoin('sso_connections', 'sso_connections.id', 'sso_identities.connection_id')
    .select(['sso_identities.user_id', 'sso_connections.default_role as role_id'])
    .where('sso_identities.organization_id', '=', organizationId)
    .where('sso_connections.default_role', '!=', 'org:member')
    .$if(userIds !== undefined, (query) => query.where('sso_identities.user_id', 'in', userIds ?? []))
    .execute()
  const roles = await listRoleIds(tx, organizationId)
  const granted = [...mapped, ...defaults.map((row) => ({ ...row, workspace_id: null }))]
  return granted.filter(({ role_id }) => roles.has(role_id))
}

/** The roles that can be assigned. Mappings may name a role that was deleted since. */
async function listRoleIds(tx: Db, organizationId: string): Promise<Set<string>> {
  const custom = await tx
    .selectFrom('roles')
    .select('id')
    .where('organization_id', '=', organizationId)
    .execute()
  return new Set([...additionalRoles, ...custom].map(({ id }) => id))
}

async function loadAssignments(tx: Db, { organizationId, userIds }: SsoScope) {
  return tx
    .selectFrom('role_assignments')
    .select(['id', 'user_id', 'role_id', 'workspace_id'])
    .where('organization_id', '=', organizationId)
    .where('source', '=', 'oidc')
    .$if(userIds !== undefined, (query) => query.where('user_id', 'in', userIds ?? []))
    .execute()
}
