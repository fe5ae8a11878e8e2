import { z } from 'zod'
import { assertMayDelegate } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { requireMember } from '../../../identity/members.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope, grantOfRole } from '../../../identity/permissions/grant.ts'
import { additionalRoles, type Role } from '../../../identity/permissions/roles.ts'
import { findAssignableRole } from '../../../identity/roles.ts'
import { resolveWorkspace } from '../../../identity/workspaces.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import {
  deleteAssignment,
  findAssignment,
  insertAssignment,
  isAssigned,
  listAssignments,
  type RoleAssignmentRow,
} from './store.ts'

const tag = 'Roles'
const path = '/organization/members/{id}/roles'
const memberId = z.string().min(1).max(256).describe('The id of the member.')

const assignmentRecord = z
  .strictObject({
    id: z.uuid(),
    user_id: z.string(),
    role_id: z.string(),
    workspace_id: z.uuid().nullable().describe('null if the role applies in the whole organization.'),
    source: z.enum(['manual', 'oidc']).describe('`oidc` if the identity provider of the member assigned it.'),
    created_at: z.string(),
  })
  .meta({ id: 'RoleAssignment' })

const listMemberRoles = defineOperation({
  id: 'listMemberRoles',
  method: 'GET',
  path,
  tag,
  summary: 'Lists the roles that a member has in addition to those of organization and workspaces.',
  description: 'A caller with the permission in some workspaces only sees the assignments there.',
  permission: 'roles:read',
  params: z.object({ id: memberId }),
  query: pageQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(assignmentRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, scope, params, query }) => {
    const member = await requireMember(gateway.db, caller.organizationId, params.id)
    const workspaceIds = scope.everywhere ? null : [...scope.workspaceIds]
    const { rows, total } = await listAssignments(gateway.db, member.id, workspaceIds, query)
    return { data: rows.map(toAssignmentRecord), total_count: total }
  },
})

const assignMemberRole = defineOperation({
  id: 'assignMemberRole',
  method: 'POST',
  path,
  tag,
  summary: 'Assigns a role to a member, in the organization or in one workspace.',
  description:
    'A caller cannot assign a role with permissions that the caller does not have there. In a workspace, permissions that apply to the whole organization have no effect.',
  permission: 'roles:write',
  params: z.object({ id: memberId }),
  body: z.strictObject({
    role_id: z.string().min(1).max(100),
    workspace_id: z.uuid().nullish().describe('Defaults to the whole organization.'),
  }),
  status: 201,
  errors: [404, 409],
  response: z.strictObject({ data: assignmentRecord }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, scope, params, body } = request
      const { organizationId } = caller
      await lockOrganization(tx, organizationId)
      const member = await requireMember(tx, organizationId, params.id)
      const workspaceId = body.workspace_id
        ? (await resolveWorkspace(tx, organizationId, body.workspace_id)).id
        : null
      assertWithinScope(scope, { workspaceId })
      const role = await requireAssignableRole(tx, organizationId, body.role_id)
      assertMayDelegate(caller, grantOfRole({ role, workspaceId }))
      const assignment: RoleAssignmentRow = {
        id: newUuid(),
        organization_id: organizationId,
        user_id: member.id,
        role_id: role.id,
        workspace_id: workspaceId,
        source: 'manual',
        created_at: isoNow(gateway.clock),
      }
      if (await isAssigned(tx, assignment))
        throw gatewayError('conflict', 'The member already has this role.')
      await insertAssignment(tx, assignment)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'role_assignments', member.id)
      record({
        action: 'role_assignment.create',
        ...describeAssignment(assignment, role),
        after: { ...assignment },
      })
      return { data: toAssignmentRecord(assignment) }
    }),
})

const removeMemberRole = defineOperation({
  id: 'removeMemberRole',
  method: 'DELETE',
  path: `${path}/{assignment_id}`,
  tag,
  summary: 'Removes a role from a member.',
  permission: 'roles:write',
  params: z.object({ id: memberId, assignment_id: z.uuid() }),
  errors: [404, 409],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { caller, scope, params } = request
      await lockOrganization(tx, caller.organizationId)
      const member = await requireMember(tx, caller.organizationId, params.id)
      const before = await findAssignment(tx, member.id, params.assignment_id.toLowerCase())
      if (!before) throw gatewayError('not_found', 'The member does not have this role.')
      assertWithinScope(scope, { workspaceId: before.workspace_id })
      const role = await findAssignableRole(tx, caller.organizationId, before.role_id)
      if (role) assertMayDelegate(caller, grantOfRole({ role, workspaceId: before.workspace_id }))
      if (before.source === 'oidc')
        throw gatewayError(
          'conflict',
          'The identity provider of the member assigns this role: remove it there.',
        )
      await deleteAssignment(tx, before.id)
      record({
        action: 'role_assignment.delete',
        ...describeAssignment(before, role),
        before: { ...before },
      })
      return { deleted: true as const }
    }),
})

export const assignmentOperations = [listMemberRoles, assignMemberRole, removeMemberRole]

async function requireAssignableRole(tx: Db, organizationId: string, id: string): Promise<Role> {
  const role = await findAssignableRole(tx, organizationId, id)
  if (role) return role
  const names = additionalRoles.map((builtIn) => builtIn.id).join(', ')
  throw invalidFieldError('role_id', `must be ${names} or the id of a role of the organization`)
}

function describeAssignment(assignment: RoleAssignmentRow, role: Role | undefined) {
  return {
    target: { type: 'role_assignment', id: assignment.id, name: role?.name ?? assignment.role_id },
    workspaceId: assignment.workspace_id,
  }
}

function toAssignmentRecord(row: RoleAssignmentRow): z.input<typeof assignmentRecord> {
  const { id, user_id, role_id, workspace_id, source, created_at } = row
  return { id, user_id, role_id, workspace_id, source, created_at }
}
