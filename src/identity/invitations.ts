import type { Selectable } from 'kysely'
import { sha256 } from '../platform/crypto/crypto.ts'
import { newToken, newUuid } from '../platform/crypto/ids.ts'
import type { Db } from '../platform/db/db.ts'
import { fetchPage, type RowPage } from '../platform/db/page.ts'
import type { InvitationTable } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { Pagination } from '../platform/validation/query-params.ts'

export type Invitation = Selectable<InvitationTable>

export interface NewInvitation {
  organizationId: string
  email: string
  role: Invitation['role']
  workspaceIds: string[]
  invitedBy: string | null
  expiresAt: string
}

/** The invitation, and the token of its link, which is stored as a hash. */
export async function insertInvitation(
  tx: Db,
  clock: Clock,
  input: NewInvitation,
): Promise<{ invitation: Invitation; token: string }> {
  const token = newToken()
  const invitation: Invitation = {
    id: newUuid(),
    organization_id: input.organizationId,
    email: input.email,
    role: input.role,
    workspace_ids: JSON.stringify(input.workspaceIds),
    token_hash: sha256(token),
    invited_by: input.invitedBy,
    created_at: isoNow(clock),
    expires_at: input.expiresAt,
    accepted_at: null,
    revoked_at: null,
  }
  await tx.insertInto('invitations').values(invitation).execute()
  return { invitation, token }
}

export async function listInvitations(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<RowPage<Invitation>> {
  const all = db.selectFrom('invitations').where('organization_id', '=', organizationId)
  return fetchPage(all.selectAll(), page)
}

/** Deletes expired and revoked invitations, which would count toward the ceiling. */
export async function deleteEndedInvitations(tx: Db, clock: Clock, organizationId: string): Promise<void> {
  await tx
    .deleteFrom('invitations')
    .where('organization_id', '=', organizationId)
    .where((eb) => eb.or([eb('expires_at', '<=', isoNow(clock)), eb('revoked_at', 'is not', null)]))
    .execute()
}

export async function revokeInvitation(
  tx: Db,
  clock: Clock,
  organizationId: string,
  id: string,
): Promise<Invitation | undefined> {
  return tx
    .updateTable('invitations')
    .set({ revoked_at: isoNow(clock) })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

/** The open ones that a member sent; returns how many. */
export async function revokeInvitationsBy(tx: Db, clock: Clock, userId: string): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('invitations')
    .set({ revoked_at: isoNow(clock) })
    .where('invited_by', '=', userId)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Undefined if the token is unknown, or the invitation was used, revoked or expired. */
export async function findOpenInvitation(
  db: Db,
  clock: Clock,
  token: string,
): Promise<Invitation | undefined> {
  return db
    .selectFrom('invitations')
    .selectAll()
    .where('token_hash', '=', sha256(token))
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', isoNow(clock))
    .executeTakeFirst()
}

/** Uses up an invitation; false if it is no longer open. */
export async function claimInvitation(tx: Db, clock: Clock, { id }: Invitation): Promise<boolean> {
  const now = isoNow(clock)
  const result = await tx
    .updateTable('invitations')
    .set({ accepted_at: now })
    .where('id', '=', id)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}
