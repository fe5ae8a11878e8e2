import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { createSessionCsrfToken, sessionTokenOf } from '../../../access/session.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { emailOf, requireMember } from '../../../identity/members.ts'
import { findOperatorOrganization, findOrganization } from '../../../identity/organizations.ts'
import type { Grant } from '../../../identity/permissions/grant.ts'
import { infoOf, type Permission, permissionNames } from '../../../identity/permissions/permissions.ts'
import { endOfSession } from '../../../identity/sessions.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { signInMethod } from './record.ts'
import { listAssignedRoles, listMemberWorkspaces } from './store.ts'

const permissionList = z.array(z.enum(permissionNames))

const identity = z
  .strictObject({
    member: z.strictObject({
      id: z.string(),
      email: z.string().describe('Empty for a member without an address.'),
      first_name: z.string().nullable(),
      last_name: z.string().nullable(),
      role: z.enum(['org:admin', 'org:member']),
    }),
    organization: z.strictObject({ id: z.string(), name: z.string() }),
    roles: z
      .array(z.strictObject({ id: z.string(), workspace_id: z.string().nullable() }))
      .describe('Roles that are assigned in addition; null: in the organization.'),
    permissions: permissionList.describe('In the whole organization.'),
    workspaces: z.array(
      z.strictObject({
        id: z.string(),
        slug: z.string(),
        name: z.string(),
        role: z.enum(['admin', 'member']),
        permissions: permissionList.describe('For all records of the workspace.'),
        own_permissions: permissionList.describe('For the records that the member created.'),
      }),
    ),
    session_id: z.string(),
    method: signInMethod,
    csrf_token: z
      .string()
      .describe('Send it as the header x-csrf-token of every request but GET that uses the session.'),
    expires_at: z.string().describe('When the session ends if it is not used again.'),
  })
  .meta({ id: 'SessionIdentity' })

export const getSession = defineOperation({
  id: 'getSession',
  method: 'GET',
  path: '/session',
  tag: 'Sessions',
  summary: 'Returns who is signed in, and what the member may do.',
  description: 'Returns 404 for a request with an API key: only a member who is signed in has a session.',
  permission: 'identity:read',
  noStore: true,
  ownOriginOnly: true,
  errors: [404],
  response: z.strictObject({ data: identity }),
  handle: async ({ gateway, caller, httpRequest }) => ({
    data: await describeIdentity(gateway, caller, httpRequest),
  }),
})

async function describeIdentity(
  gateway: Gateway,
  { organizationId, userId, session: found }: Caller,
  httpRequest: Request,
): Promise<z.input<typeof identity>> {
  if (!found) throw gatewayError('not_found', 'An API key has no session. Sign in at /signin.')
  const { session, grant } = found
  const member = await requireMember(gateway.db, organizationId, userId ?? '')
  const organization = await findOrganization(gateway.db, organizationId)
  const workspaces = await listMemberWorkspaces(gateway.db, member)
  const roles = await listAssignedRoles(gateway.db, member)
  const isOperator = (await findOperatorOrganization(gateway.db))?.id === organizationId
  const everywhere = [...grant.everywhere].filter((name) => isOperator || !infoOf(name).operatorOnly)
  return {
    member: {
      id: member.id,
      email: emailOf(member) ?? '',
      first_name: member.first_name,
      last_name: member.last_name,
      role: member.role,
    },
    organization: { id: organizationId, name: organization?.name ?? '' },
    roles: roles.map(({ role_id, workspace_id }) => ({ id: role_id, workspace_id })),
    permissions: everywhere,
    workspaces: workspaces.map((workspace) => ({
      ...workspace,
      ...permissionsIn(workspace.id, grant, everywhere),
    })),
    session_id: session.id,
    method: session.method,
    csrf_token: createSessionCsrfToken(gateway, sessionTokenOf(gateway, httpRequest) ?? ''),
    expires_at: endOfSession(gateway, session),
  }
}

/** A role of a workspace may contain permissions that only the organization can give; they have no effect there. */
function permissionsIn(workspaceId: string, grant: Grant, everywhere: readonly Permission[]) {
  const granted = [...(grant.workspaces.get(workspaceId) ?? [])]
  const effective = granted.filter((name) => infoOf(name).scope !== 'organization')
  return {
    permissions: [...new Set([...everywhere, ...effective])],
    own_permissions: [...(grant.own?.workspaces.get(workspaceId) ?? [])],
  }
}
