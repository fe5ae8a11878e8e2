import { z } from 'zod'
import { assertMayAddMember, assertMayAddToWorkspace } from '../../../access/delegate.ts'
import { resolvePublicUrl } from '../../../access/origin.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import {
  deleteEndedInvitations,
  type Invitation,
  insertInvitation,
  listInvitations,
  revokeInvitation,
} from '../../../identity/invitations.ts'
import { findMemberByEmail } from '../../../identity/members.ts'
import { findOrganization, lockOrganization } from '../../../identity/organizations.ts'
import { requireWorkspace } from '../../../identity/workspaces.ts'
import { decodeList } from '../../../platform/db/values.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { canSendMail, sendMailInBackground } from '../../../platform/mail/send-mail.ts'
import { type EmailAddress, parseEmailAddress } from '../../../platform/validation/email-address.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'

const tag = 'Members'
const daySeconds = 86_400
const role = z.enum(['org:admin', 'org:member'])

const invitationRecord = z
  .strictObject({
    id: z.string(),
    email: z.string(),
    role,
    workspace_ids: z.array(z.string()),
    status: z.enum(['open', 'accepted', 'revoked', 'expired']),
    invited_by: z.string().nullable().describe('The member who sent it.'),
    created_at: z.string(),
    expires_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'Invitation' })

const createInvitation = defineOperation({
  id: 'createInvitation',
  method: 'POST',
  path: '/organization/invitations',
  tag,
  summary:
    'Invites a person to the organization. The link is shown only once, and mailed if mail is configured.',
  description:
    'The person joins the default workspace too. A caller who may do less in the organization or these workspaces than the person could gets 403.',
  permission: 'members:write',
  scope: 'organization',
  body: z.strictObject({
    email: z.string().min(3).max(254),
    role: role.default('org:member'),
    workspace_ids: z
      .array(z.string().min(1).max(256))
      .max(100)
      .default([])
      .describe('Workspaces to join, besides the default one.'),
    expires_in: z
      .int()
      .min(60)
      .max(90 * daySeconds)
      .default(7 * daySeconds)
      .describe('Seconds until the link expires.'),
  }),
  status: 201,
  errors: [404, 409],
  response: z.strictObject({
    data: invitationRecord,
    url: z.string().describe('For the person who is invited. Shown only once.'),
    mailed: z.boolean().describe('Whether a mail with the link is being sent.'),
  }),
  handle: async (context) => {
    const { gateway, caller, body, httpRequest } = context
    const { organizationId } = caller
    const address = parseEmailAddress(body.email.trim())
    if (!address) throw invalidFieldError('email', 'must be an e-mail address')
    const { invitation, token } = await transact(context, async (tx, record) => {
      await lockOrganization(tx, organizationId)
      await assertMayAddMember(tx, caller, body.role)
      await assertNotMember(tx, organizationId, address)
      const workspaces = await Promise.all(
        body.workspace_ids.map((id) => requireWorkspace(tx, organizationId, id)),
      )
      for (const { id } of workspaces) assertMayAddToWorkspace(caller, id, body.role)
      await deleteEndedInvitations(tx, gateway.clock, organizationId)
      const created = await insertInvitation(tx, gateway.clock, {
        organizationId,
        email: address.address,
        role: body.role,
        workspaceIds: [...new Set(workspaces.map(({ id }) => id))],
        invitedBy: caller.userId,
        expiresAt: new Date(gateway.clock.now() + body.expires_in * 1000).toISOString(),
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'invitations', organizationId)
      record({
        action: 'invitation.create',
        target: { type: 'invitation', id: created.invitation.id, name: address.address },
        after: created.invitation,
      })
      return created
    })
    const url = `${resolvePublicUrl(gateway, httpRequest)}/invitation?token=${token}`
    if (canSendMail(gateway)) await mailInvitation(gateway, invitation, url)
    return { data: toInvitationRecord(gateway, invitation), url, mailed: canSendMail(gateway) }
  },
})

async function assertNotMember(
  tx: Gateway['db'],
  organizationId: string,
  address: EmailAddress,
): Promise<void> {
  for (const email of [address.address, address.unicodeAddress]) {
    if (await findMemberByEmail(tx, organizationId, email))
      throw gatewayError('conflict', 'email: this person is already a member.')
  }
}

async function mailInvitation(gateway: Gateway, invitation: Invitation, url: string): Promise<void> {
  const organization = await findOrganization(gateway.db, invitation.organization_id)
  sendMailInBackground(gateway, {
    to: invitation.email,
    subject: `Invitation to ${organization?.name ?? 'Headgate'}`,
    text: `You are invited to ${organization?.name ?? 'an organization'} on Headgate. Open this link to accept. It is valid once, until ${invitation.expires_at}.\n\n${url}\n`,
  })
}

const listOrganizationInvitations = defineOperation({
  id: 'listInvitations',
  method: 'GET',
  path: '/organization/invitations',
  tag,
  summary: 'Lists the invitations of the organization, oldest first.',
  permission: 'members:read',
  scope: 'organization',
  query: pageQuery,
  response: z.strictObject({ data: z.array(invitationRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listInvitations(gateway.db, caller.organizationId, query)
    return { data: rows.map((row) => toInvitationRecord(gateway, row)), total_count: total }
  },
})

const deleteInvitation = defineOperation({
  id: 'deleteInvitation',
  method: 'DELETE',
  path: '/organization/invitations/{id}',
  tag,
  summary: 'Revokes an invitation that was not accepted.',
  permission: 'members:write',
  scope: 'organization',
  params: z.object({ id: z.string().min(1).max(256) }),
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async (context) => {
    const { gateway, caller, params } = context
    await transact(context, async (tx, record) => {
      const revoked = await revokeInvitation(tx, gateway.clock, caller.organizationId, params.id)
      if (!revoked) throw gatewayError('not_found', 'There is no open invitation with this id.')
      const target = { type: 'invitation', id: revoked.id, name: revoked.email }
      record({ action: 'invitation.revoke', target })
    })
    return { deleted: true as const }
  },
})

export const invitationOperations = [createInvitation, listOrganizationInvitations, deleteInvitation]

function toInvitationRecord(gateway: Gateway, invitation: Invitation): z.input<typeof invitationRecord> {
  const { id, email, role, workspace_ids, invited_by, created_at, expires_at } = invitation
  const status = statusOf(gateway, invitation)
  const ids = decodeList<string>(workspace_ids) ?? []
  return { id, email, role, workspace_ids: ids, status, invited_by, created_at, expires_at }
}

function statusOf({ clock }: Gateway, { accepted_at, revoked_at, expires_at }: Invitation) {
  if (accepted_at !== null) return 'accepted'
  if (revoked_at !== null) return 'revoked'
  return Date.parse(expires_at) <= clock.now() ? 'expired' : 'open'
}
