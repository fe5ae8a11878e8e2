import type { Gateway } from '../../../gateway/gateway.ts'
import { transactAs } from '../../../governance/audit/transaction.ts'
import type { RawRoute } from '../../../http/operation.ts'
import { createPage, readForm } from '../../../http/pages/browser.ts'
import { html, renderPage } from '../../../http/pages/markup.ts'
import { finishSignIn, originOf } from '../../../http/pages/sign-in.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { claimInvitation, findOpenInvitation, type Invitation } from '../../../identity/invitations.ts'
import { createMember, joinWorkspace, type Member } from '../../../identity/members.ts'
import { findOrganization, lockOrganization } from '../../../identity/organizations.ts'
import { tryLockWorkspace } from '../../../identity/workspaces.ts'
import { decodeList } from '../../../platform/db/values.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import { toSingleLine } from '../../../platform/validation/name-schema.ts'

const maxNameLength = 100

/** Shows only a form, so that link previews do not use up the invitation. */
async function showInvitation(gateway: Gateway, request: Request): Promise<Response> {
  const token = parseRequestUrl(request).searchParams.get('token') ?? ''
  const invitation = await findOpenInvitation(gateway.db, gateway.clock, token)
  if (!invitation) return renderDeadInvitation(gateway)
  const organization = await findOrganization(gateway.db, invitation.organization_id)
  const name = organization?.name ?? ''
  return renderPage(gateway, {
    title: `Join ${name}`,
    body: html`<p>You are invited to <strong><bdi>${name}</bdi></strong> as <strong><bdi>${invitation.email}</bdi></strong>.</p>
<form method="post" action="invitation"><input type="hidden" name="token" value="${token}">
<p><label for="first">First name</label><br><input id="first" name="first_name" autocomplete="given-name" maxlength="${String(maxNameLength)}"></p>
<p><label for="last">Last name</label><br><input id="last" name="last_name" autocomplete="family-name" maxlength="${String(maxNameLength)}"></p>
<p><button class="primary">Accept the invitation</button></p></form>`,
  })
}

async function acceptInvitation(gateway: Gateway, request: Request): Promise<Response> {
  const form = await readForm(gateway, request)
  const invitation = await findOpenInvitation(gateway.db, gateway.clock, form.get('token') ?? '')
  const nameOf = (field: string) => toSingleLine(form.get(field) ?? '').slice(0, maxNameLength) || null
  const names = { firstName: nameOf('first_name'), lastName: nameOf('last_name') }
  const member = invitation && (await joinOrganization(gateway, request, invitation, names))
  const signedIn = member && (await finishSignIn(gateway, request, { member, method: 'invitation' }))
  return signedIn ?? renderDeadInvitation(gateway)
}

/** Creates the member; undefined if the invitation was used meanwhile. */
async function joinOrganization(
  gateway: Gateway,
  request: Request,
  invitation: Invitation,
  names: { firstName: string | null; lastName: string | null },
): Promise<Member | undefined> {
  const { clock, settings } = gateway
  const organizationId = invitation.organization_id
  const origin = { ...originOf(gateway, request), organizationId }
  return transactAs(gateway, origin, async (tx, record) => {
    await lockOrganization(tx, organizationId)
    const workspaceIds = decodeList<string>(invitation.workspace_ids) ?? []
    const workspaces = []
    for (const id of workspaceIds.toSorted()) workspaces.push(await tryLockWorkspace(tx, organizationId, id))
    if (!(await claimInvitation(tx, clock, invitation))) return undefined
    const { email, role } = invitation
    const member = await createMember(tx, clock, { organizationId, email, role, ...names })
    // A workspace that was deleted since is left out.
    for (const workspace of workspaces) if (workspace) await joinWorkspace(tx, clock, workspace.id, [member])
    await assertWithinCeiling(tx, settings.ceilings, 'members', organizationId)
    record({
      action: 'invitation.accept',
      target: { type: 'invitation', id: invitation.id, name: email },
      details: { member_id: member.id },
    })
    return member
  })
}

function renderDeadInvitation(gateway: Gateway): Response {
  return renderPage(gateway, {
    title: 'This invitation is invalid or expired',
    body: html`<p>An invitation is valid once. Request a new one from the person who invited you, or <a href="signin">sign in</a> if you accepted it before.</p>`,
    status: 401,
  })
}

export const invitationPages: RawRoute[] = [
  createPage('GET', '/invitation', showInvitation),
  createPage('POST', '/invitation', acceptInvitation),
]
