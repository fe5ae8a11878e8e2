import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { assertMayDelegate } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { grantOfRole } from '../../../identity/permissions/grant.ts'
import { builtInRoles } from '../../../identity/permissions/roles.ts'
import { type CustomRole, decodeRole, findCustomRole } from '../../../identity/roles.ts'
import { newId } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { encodeList } from '../../../platform/db/values.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { assignmentOperations } from './assignments.ts'
import { createBody, roleRecord, toBuiltInRecord, toRoleRecord, updateBody } from './record.ts'
import { countAssignments, deleteRole, insertRole, listCustomRoles, updateRole } from './store.ts'

const tag = 'Roles'
const idParam = z.object({ id: z.string().min(1).max(100) })
const roleResponse = z.strictObject({ data: roleRecord })

const listRolesOperation = defineOperation({
  id: 'listRoles',
  method: 'GET',
  path: '/roles',
  tag,
  summary: 'Lists the built-in roles, then those of the organization, oldest first.',
  description: 'Only the roles of the organization are counted and paged.',
  permission: 'roles:read',
  query: pageQuery,
  response: z.strictObject({
    data: z.array(roleRecord),
    total_count: z.int().describe('The number of roles of the organization.'),
  }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listCustomRoles(gateway.db, caller.organizationId, query)
    const builtIn = query.offset === 0 ? builtInRoles.map(toBuiltInRecord) : []
    return { data: [...builtIn, ...rows.map(toRoleRecord)], total_count: total }
  },
})

const createRoleOperation = defineOperation({
  id: 'createRole',
  method: 'POST',
  path: '/roles',
  tag,
  summary: 'Creates a role of the organization, which can then be assigned to members.',
  description: 'A caller cannot create a role with permissions that the caller does not have.',
  permission: 'roles:write',
  scope: 'organization',
  body: createBody,
  status: 201,
  errors: [409],
  response: roleResponse,
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, body } = request
      await lockOrganization(tx, caller.organizationId)
      const now = isoNow(gateway.clock)
      const role = applyBody(body, {
        id: newId('role'),
        organization_id: caller.organizationId,
        name: body.name,
        description: null,
        permissions: '[]',
        own_permissions: '[]',
        created_at: now,
        updated_at: now,
      })
      assertMayGrant(caller, role)
      await insertRole(tx, role)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'roles', caller.organizationId)
      record({ action: 'role.create', ...describeRole(role), after: { ...role } })
      return { data: toRoleRecord(role) }
    }),
})

const getRoleOperation = defineOperation({
  id: 'getRole',
  method: 'GET',
  path: '/roles/{id}',
  tag,
  summary: 'Retrieves a role.',
  permission: 'roles:read',
  params: idParam,
  errors: [404],
  response: roleResponse,
  handle: async ({ gateway, caller, params }) => {
    const builtIn = builtInRoles.find(({ id }) => id === params.id)
    if (builtIn) return { data: toBuiltInRecord(builtIn) }
    return { data: toRoleRecord(await requireCustomRole(gateway.db, caller, params.id)) }
  },
})

const updateRoleOperation = defineOperation({
  id: 'updateRole',
  method: 'PATCH',
  path: '/roles/{id}',
  tag,
  summary:
    'Updates a role of the organization, for everyone who has it. Fields that are not sent stay unchanged.',
  description:
    'A caller cannot change or delete a role that has, or would have, permissions that the caller does not have.',
  permission: 'roles:write',
  scope: 'organization',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: roleResponse,
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, params, body } = request
      await lockOrganization(tx, caller.organizationId)
      const before = await requireCustomRole(tx, caller, params.id)
      const after = { ...applyBody(body, before), updated_at: isoNow(gateway.clock) }
      assertMayGrant(caller, before)
      assertMayGrant(caller, after)
      await updateRole(tx, after)
      record({ action: 'role.update', ...describeRole(after), before: { ...before }, after: { ...after } })
      return { data: toRoleRecord(after) }
    }),
})

const deleteRoleOperation = defineOperation({
  id: 'deleteRole',
  method: 'DELETE',
  path: '/roles/{id}',
  tag,
  summary: 'Deletes a role of the organization that no member has.',
  description: 'A role that is assigned is 409: remove its assignments first.',
  permission: 'roles:write',
  scope: 'organization',
  params: idParam,
  errors: [404, 409],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { caller, params } = request
      await lockOrganization(tx, caller.organizationId)
      const before = await requireCustomRole(tx, caller, params.id)
      assertMayGrant(caller, before)
      const count = await countAssignments(tx, caller.organizationId, before.id)
      if (count > 0)
        throw gatewayError('conflict', `The role is assigned (${count}): remove the assignments first.`)
      await deleteRole(tx, before.id)
      record({ action: 'role.delete', ...describeRole(before), before: { ...before } })
      return { deleted: true as const }
    }),
})

export const roleOperations = [
  listRolesOperation,
  createRoleOperation,
  getRoleOperation,
  updateRoleOperation,
  deleteRoleOperation,
  ...assignmentOperations,
]

async function requireCustomRole(db: Db, { organizationId }: Caller, id: string): Promise<CustomRole> {
  if (builtInRoles.some((role) => role.id === id))
    throw gatewayError(
      'conflict',
      'This role is built in and cannot be changed. Create one with POST /roles.',
    )
  const role = await findCustomRole(db, organizationId, id)
  if (!role) throw gatewayError('not_found', 'The role does not exist.')
  return role
}

/** A role can be assigned in the whole organization, so its permissions are needed there. */
function assertMayGrant(caller: Caller, row: CustomRole): void {
  assertMayDelegate(caller, grantOfRole({ role: decodeRole(row), workspaceId: null }))
}

function applyBody(body: z.output<typeof updateBody>, row: CustomRole): CustomRole {
  return {
    ...row,
    ...(body.name !== undefined && { name: body.name }),
    ...(body.description !== undefined && { description: body.description || null }),
    ...(body.permissions && { permissions: encodeList(body.permissions) ?? '[]' }),
    ...(body.own_permissions && { own_permissions: encodeList(body.own_permissions) ?? '[]' }),
  }
}

function describeRole({ id, name }: CustomRole) {
  return { target: { type: 'role', id, name } }
}
