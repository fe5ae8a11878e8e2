import type { Selectable } from 'kysely'
import { newId, newUuid } from '../platform/crypto/ids.ts'
import { type Db, isUniqueViolation } from '../platform/db/db.ts'
import type { MemberTable, OrganizationRole, WorkspaceMemberTable } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { parseEmailAddress } from '../platform/validation/email-address.ts'
import { findDefaultWorkspace } from './workspaces.ts'

export type Member = Selectable<MemberTable>

export interface NewMember {
  organizationId: string
  /** Null if an identity provider sent none. */
  email: string | null
  firstName?: string | null
  lastName?: string | null
  role: OrganizationRole
}

/**
 * Every member of an organization is a member of its default workspace: both rows are written together. Call it in
 * a transaction that locked the organization, so that the workspace is not deleted concurrently.
 */
export async function createMember(db: Db, clock: Clock, input: NewMember): Promise<Member> {
  const id = newId('user')
  const member: Member = {
    id,
    organization_id: input.organizationId,
    // The column is unique and not null: a member without an address gets the id, which is not an address.
    email: input.email === null ? id : canonicalEmail(input.email),
    first_name: input.firstName ?? null,
    last_name: input.lastName ?? null,
    role: input.role,
    active: 1,
    created_at: isoNow(clock),
  }
  try {
    await db.insertInto('members').values(member).execute()
  } catch (error) {
    if (isUniqueViolation(error)) throw gatewayError('conflict', 'email: this person is already a member.')
    throw error
  }
  const workspace = await findDefaultWorkspace(db, input.organizationId)
  if (workspace) await joinWorkspace(db, clock, workspace.id, [member])
  return member
}

/** The form in which an address is stored: its domain as domains are compared, if it is an address. */
export function canonicalEmail(email: string): string {
  return parseEmailAddress(email.trim())?.address ?? email.toLowerCase()
}

/** Null for a member without an e-mail address. */
export function emailOf({ email }: Pick<Member, 'email'>): string | null {
  return email.includes('@') ? email : null
}

/** The display name of a person on pages. */
export function displayNameOf(member: Member): string {
  const name = [member.first_name, member.last_name].filter(Boolean).join(' ')
  return emailOf(member) ?? (name || member.id)
}

export function toWorkspaceRole(role: OrganizationRole): WorkspaceMemberTable['role'] {
  return role === 'org:admin' ? 'admin' : 'member'
}

/** Adds members manually, or marks existing memberships as manual, with the role of the organization. */
export async function joinWorkspace(
  db: Db,
  clock: Clock,
  workspaceId: string,
  members: Member[],
): Promise<Selectable<WorkspaceMemberTable>[]> {
  return db
    .insertInto('workspace_members')
    .values(
      members.map((member) => ({
        id: newUuid(),
        workspace_id: workspaceId,
        user_id: member.id,
        role: toWorkspaceRole(member.role),
        is_manual: 1 as const,
        created_at: isoNow(clock),
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'user_id'])
        .doUpdateSet((eb) => ({ role: eb.ref('excluded.role'), is_manual: 1 })),
    )
    .returningAll()
    .execute()
}

export async function findMember(db: Db, organizationId: string, id: string): Promise<Member | undefined> {
  return db
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function findMemberByEmail(
  db: Db,
  organizationId: string,
  email: string,
): Promise<Member | undefined> {
  return db
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('email', 'in', [...new Set([email.toLowerCase(), ...spellingsOf(email)])])
    .orderBy('created_at')
    .executeTakeFirst()
}

export async function findFirstAdmin(db: Db, organizationId: string): Promise<Member | undefined> {
  return db
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('role', '=', 'org:admin')
    .where('active', '=', 1)
    .orderBy('created_at')
    .orderBy('id')
    .executeTakeFirst()
}

export async function requireMember(db: Db, organizationId: string, id: string): Promise<Member> {
  const member = await findMember(db, organizationId, id)
  if (!member) throw gatewayError('not_found', 'The member does not exist.')
  return member
}

/** The given ids that are members of this organization. */
export async function findMembers(db: Db, organizationId: string, ids: string[]): Promise<Member[]> {
  return db
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
}

/** Locks a member, like `tryLockWorkspace`: no removal or deactivation happens before the transaction ends. */
export async function tryLockMember(tx: Db, organizationId: string, id: string): Promise<Member | undefined> {
  return tx
    .updateTable('members')
    .set((eb) => ({ role: eb.ref('role') }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('active', '=', 1)
    .returningAll()
    .executeTakeFirst()
}

export async function findActiveMember(db: Db, id: string): Promise<Member | undefined> {
  return db.selectFrom('members').selectAll().where('id', '=', id).where('active', '=', 1).executeTakeFirst()
}

/** An address may belong to members of several organizations. */
const maxMembersPerAddress = 5

/** The active members with an address in any organization, oldest first. */
export async function findMembersByAddress(db: Db, email: string): Promise<Member[]> {
  const addresses = spellingsOf(email)
  if (addresses.length === 0) return []
  return db
    .selectFrom('members')
    .selectAll()
    .where('email', 'in', addresses)
    .where('active', '=', 1)
    .orderBy('created_at')
    .orderBy('id')
    .limit(maxMembersPerAddress)
    .execute()
}

/** Spellings in which an address may be stored. The first owner of an installation has one without a domain. */
function spellingsOf(email: string): string[] {
  const parsed = parseEmailAddress(email.trim())
  if (parsed) return [...new Set([parsed.address, parsed.unicodeAddress])]
  return /^[\w.+-]{1,64}@localhost$/i.test(email.trim()) ? [email.trim().toLowerCase()] : []
}
