import type { Selectable } from 'kysely'
import { newId } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import type { Flag, MemberTable, OrganizationTable } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { revokeInvitationsBy } from './invitations.ts'
import { disableKeys, disableSuspendedKeys, setKeysSuspended } from './keys.ts'
import { createMember, joinWorkspace, type Member, requireMember } from './members.ts'
import { insertDefaultRules } from './notification-rules.ts'
import { applyGrants, applyRoles, splitIntoChunks } from './scim-grants.ts'
import { deleteSignInCredentials } from './sessions.ts'
import { deletePrivateRecords } from './shared-records.ts'
import { isSsoEnforced } from './sign-in-rules.ts'
import { assertAnotherBreakGlass } from './sso-policy.ts'
import { endOwnSessions } from './sso-sessions.ts'
import { createWorkspace, findDefaultWorkspace, type NewWorkspace, type Workspace } from './workspaces.ts'

/** Members per statement: well below the number of parameters that either database accepts. */
const membersPerStatement = 500

export interface NewOrganization {
  name: string
  ownerEmail: string
  isOperator?: Flag
}

export interface CreatedOrganization {
  organization: Selectable<OrganizationTable>
  workspace: Workspace
  owner: Member
}

/** Creates the organization with its default workspace and owner. Call it in a transaction. */
export async function createOrganization(
  db: Db,
  clock: Clock,
  input: NewOrganization,
): Promise<CreatedOrganization> {
  const organization = {
    id: newId('org'),
    name: input.name,
    is_operator: input.isOperator ?? 0,
    privacy_locked: 0 as const,
    default_plugins: null,
    created_at: isoNow(clock),
  }
  await db.insertInto('organizations').values(organization).execute()
  const workspace = await createWorkspace(
    db,
    clock,
    { organizationId: organization.id, createdBy: null, isDefault: true },
    { slug: 'default', name: 'Default' },
  )
  const owner = await createMember(db, clock, {
    organizationId: organization.id,
    email: input.ownerEmail,
    role: 'org:admin',
  })
  await insertDefaultRules(db, clock, organization.id)
  return { organization, workspace, owner }
}

export async function findOperatorOrganization(db: Db): Promise<Selectable<OrganizationTable> | undefined> {
  return db.selectFrom('organizations').selectAll().where('is_operator', '=', 1).executeTakeFirst()
}

export async function countOrganizations(db: Db): Promise<number> {
  const row = await db
    .selectFrom('organizations')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return row?.count ?? 0
}

export async function findOrganization(
  db: Db,
  id: string,
): Promise<Selectable<OrganizationTable> | undefined> {
  return db.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Loads the plugins that `setDefaultPlugins` stored after validation. */
export async function loadDefaultPlugins(db: Db, id: string): Promise<unknown[]> {
  const row = await db
    .selectFrom('organizations')
    .select('default_plugins')
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.default_plugins ? JSON.parse(row.default_plugins) : []
}

export async function setDefaultPlugins(
  tx: Db,
  id: string,
  plugins: readonly object[],
): Promise<Selectable<OrganizationTable>> {
  const default_plugins = plugins.length === 0 ? null : JSON.stringify(plugins)
  return tx
    .updateTable('organizations')
    .set({ default_plugins })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** See `privacy-lock.ts`. */
export async function setPrivacyLocked(tx: Db, id: string, privacy_locked: Flag): Promise<void> {
  await tx.updateTable('organizations').set({ privacy_locked }).where('id', '=', id).execute()
}

export async function listOrganizations(db: Db): Promise<Selectable<OrganizationTable>[]> {
  return db.selectFrom('organizations').selectAll().orderBy('created_at').orderBy('id').execute()
}

/** Locks an organization, like `tryLockWorkspace`: serializes changes to its members and its credits. */
export async function lockOrganization(
  tx: Db,
  id: string,
): Promise<Selectable<OrganizationTable> | undefined> {
  return tx
    .updateTable('organizations')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export type MemberChanges = Partial<Pick<MemberTable, 'first_name' | 'last_name' | 'role'>>

/** The role in every workspace follows the organization role, unless a SCIM mapping grants a higher one. */
export async function updateMember(
  tx: Db,
  clock: Clock,
  { organization_id: organizationId, id }: Pick<Member, 'organization_id' | 'id'>,
  changes: MemberChanges,
): Promise<Member> {
  await lockOrganization(tx, organizationId)
  const member = await requireMember(tx, organizationId, id)
  if (Object.keys(changes).length === 0) return member
  if (changes.role === 'org:member') await demote(tx, clock, member)
  const changed = await tx
    .updateTable('members')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (changes.role) await applyRoles(tx, { organizationId, userIds: [id] })
  return changed
}

/** Ends what only an admin may have. Before the member is changed: see `removeMember`. */
async function demote(tx: Db, clock: Clock, member: Member): Promise<void> {
  if (member.role !== 'org:admin') return
  await assertAnotherAdmin(tx, member)
  // With an invitation sent before, the member would become an admin again.
  await revokeInvitationsBy(tx, clock, member.id)
  if (await isSsoEnforced(tx, member.organization_id)) await endOwnSessions(tx, member.id)
}

/** Removes a member; revokes everything the member could sign in or send requests with, and open invitations. */
export async function removeMember(
  tx: Db,
  clock: Clock,
  organizationId: string,
  id: string,
): Promise<{ disabled_keys: number; revoked_invitations: number }> {
  await lockOrganization(tx, organizationId)
  await assertAnotherAdmin(tx, await requireMember(tx, organizationId, id))
  // Before the member: using one of these locks it first and the member second.
  await deleteSignInCredentials(tx, id)
  await tx.deleteFrom('role_assignments').where('user_id', '=', id).execute()
  await tx.deleteFrom('members').where('id', '=', id).execute()
  await deletePrivateRecords(tx, `member ${id}`)
  const disabled_keys = await disableKeys(tx, clock, { creatorUserId: id })
  const revoked_invitations = await revokeInvitationsBy(tx, clock, id)
  // Management keys belong to the organization and stay; records they create from now on have no creator.
  await tx
    .updateTable('api_keys')
    .set({ creator_user_id: null })
    .where('creator_user_id', '=', id)
    .where('kind', '=', 'management')
    .execute()
  return { disabled_keys, revoked_invitations }
}

/**
 * Suspends the member's access. Reactivation restores the memberships, but not sign-ins, and keys only with `restoreKeys`:
 * someone may have learned their secrets since.
 */
export async function setMemberActive(
  tx: Db,
  clock: Clock,
  organizationId: string,
  id: string,
  active: boolean,
  { restoreKeys = false } = {},
): Promise<void> {
  await lockOrganization(tx, organizationId)
  const member = await requireMember(tx, organizationId, id)
  if ((member.active === 1) === active) return
  if (!active) {
    await assertAnotherAdmin(tx, member)
    await revokeInvitationsBy(tx, clock, id)
  }
  await deleteSignInCredentials(tx, id)
  await tx
    .updateTable('members')
    .set({ active: active ? 1 : 0 })
    .where('id', '=', id)
    .execute()
  if (active && !restoreKeys) await disableSuspendedKeys(tx, clock, id)
  await setKeysSuspended(tx, id, active ? 0 : 1)
  await applyGrants(tx, clock, { organizationId, userIds: [id] })
}

async function assertAnotherAdmin(tx: Db, leaving: Member): Promise<void> {
  if (leaving.role !== 'org:admin' || !leaving.active) return
  await assertAnotherBreakGlass(tx, leaving)
  const other = await tx
    .selectFrom('members')
    .select('id')
    .where('organization_id', '=', leaving.organization_id)
    .where('role', '=', 'org:admin')
    .where('active', '=', 1)
    .where('id', '!=', leaving.id)
    .limit(1)
    .executeTakeFirst()
  if (!other) {
    throw gatewayError(
      'conflict',
      'The last active admin of an organization cannot be demoted, deactivated or removed. Make another member an admin first.',
    )
  }
}

/** Adds a workspace. If the organization has no default workspace, this becomes it, with every member. */
export async function addWorkspace(
  tx: Db,
  clock: Clock,
  owner: { organizationId: string; createdBy: string | null },
  input: NewWorkspace,
): Promise<Workspace> {
  await lockOrganization(tx, owner.organizationId)
  const isDefault = (await findDefaultWorkspace(tx, owner.organizationId)) === undefined
  const workspace = await createWorkspace(tx, clock, { ...owner, isDefault }, input)
  if (isDefault) {
    const members = await listAllMembers(tx, owner.organizationId)
    for (const batch of splitIntoChunks(members, membersPerStatement))
      await joinWorkspace(tx, clock, workspace.id, batch)
  }
  return workspace
}

async function listAllMembers(tx: Db, organizationId: string): Promise<Member[]> {
  return tx.selectFrom('members').selectAll().where('organization_id', '=', organizationId).execute()
}
