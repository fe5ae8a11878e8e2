import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { assertMayDelegate } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { grantOfRole } from '../../../identity/permissions/grant.ts'
import { workspaceRoles } from '../../../identity/permissions/roles.ts'
import { applyGrants } from '../../../identity/scim-grants.ts'
import { tryLockWorkspace } from '../../../identity/workspaces.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { WorkspaceRole } from '../../../platform/db/schema.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { pageQuery, queryBoolean } from '../../../platform/validation/query-params.ts'
import { findGroup } from './groups/store.ts'
import {
  deleteMapping,
  findMapping,
  findMappingByTarget,
  insertMapping,
  listMappings,
  type Mapping,
  makeMembershipsManual,
  setMappingRole,
} from './store.ts'

const tag = 'SCIM'
const role = z.enum(['admin', 'member'])
const idParam = z.object({ id: z.uuid() })

const mappingRecord = z
  .strictObject({
    id: z.uuid(),
    organization_id: z.string(),
    scim_group_id: z.uuid(),
    workspace_id: z.uuid(),
    role,
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'ScimGroupMapping' })

const mappingResponse = z.strictObject({ data: mappingRecord })

const createBody = z.strictObject({
  scim_group_id: z.uuid().toLowerCase(),
  workspace_id: z.uuid().toLowerCase(),
  role,
})

const listScimGroupMappings = defineOperation({
  id: 'listScimGroupMappings',
  method: 'GET',
  path: '/scim/group-mappings',
  tag,
  summary: 'Lists the group mappings, oldest first.',
  permission: 'scim:read',
  query: pageQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(mappingRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listMappings(gateway.db, caller.organizationId, query)
    return { data: rows.map(toMappingRecord), total_count: total }
  },
})

const createScimGroupMapping = defineOperation({
  id: 'createScimGroupMapping',
  method: 'POST',
  path: '/scim/group-mappings',
  tag,
  summary: 'Creates a group mapping, which grants the members of a group access to a workspace.',
  description:
    'Repeating a mapping with the same role succeeds and applies it again; with another role it returns 409. If several mappings grant a member access to one workspace, the highest role applies.',
  permission: 'scim:write',
  body: createBody,
  status: 201,
  errors: [404, 409],
  response: mappingResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, body } = context
      await lockOrganization(tx, caller.organizationId)
      const targets = await requireTargets(tx, caller.organizationId, body)
      const { scim_group_id, workspace_id } = targets
      assertMayAssign(caller, workspace_id, body.role)
      const existing = await findMappingByTarget(tx, caller.organizationId, scim_group_id, workspace_id)
      if (existing && existing.role !== body.role) {
        throw gatewayError(
          'conflict',
          `role: this group has the role ${existing.role} in this workspace already; update that mapping.`,
        )
      }
      const mapping = existing ?? (await insertMapping(tx, gateway.clock, { ...targets, role: body.role }))
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'scim_mappings', caller.organizationId)
      await applyMapping(tx, gateway, mapping)
      if (!existing) record({ action: 'scim_mapping.create', ...describeMapping(mapping), after: mapping })
      return { data: toMappingRecord(mapping) }
    }),
})

const getScimGroupMapping = defineOperation({
  id: 'getScimGroupMapping',
  method: 'GET',
  path: '/scim/group-mappings/{id}',
  tag,
  summary: 'Retrieves a group mapping.',
  permission: 'scim:read',
  params: idParam,
  errors: [404],
  response: mappingResponse,
  handle: async ({ gateway, caller, params }) => ({
    data: toMappingRecord(await requireMapping(gateway.db, caller.organizationId, params.id)),
  }),
})

const updateScimGroupMapping = defineOperation({
  id: 'updateScimGroupMapping',
  method: 'PATCH',
  path: '/scim/group-mappings/{id}',
  tag,
  summary: 'Updates the role of a group mapping and applies it to the members of the group.',
  permission: 'scim:write',
  params: idParam,
  body: z.strictObject({ role }),
  errors: [404],
  response: mappingResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, params, body } = context
      await lockOrganization(tx, caller.organizationId)
      const before = await requireMapping(tx, caller.organizationId, params.id)
      assertMayAssign(caller, before.workspace_id, body.role)
      const mapping = await setMappingRole(tx, gateway.clock, before.id, body.role)
      await applyMapping(tx, gateway, mapping)
      record({ action: 'scim_mapping.update', ...describeMapping(mapping), before, after: mapping })
      return { data: toMappingRecord(mapping) }
    }),
})

const deleteScimGroupMapping = defineOperation({
  id: 'deleteScimGroupMapping',
  method: 'DELETE',
  path: '/scim/group-mappings/{id}',
  tag,
  summary: 'Deletes a group mapping, with or without the access it granted.',
  description:
    'With keep_members=false, members who are in the workspace only through this mapping are removed. With keep_members=true they stay as if added manually, with their organization role. There is no default.',
  permission: 'scim:write',
  params: idParam,
  query: z.object({ keep_members: queryBoolean() }),
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, params, query } = context
      await lockOrganization(tx, caller.organizationId)
      const mapping = await requireMapping(tx, caller.organizationId, params.id)
      if (query.keep_members) await makeMembershipsManual(tx, mapping)
      await deleteMapping(tx, mapping.id)
      await applyMapping(tx, gateway, mapping)
      const { keep_members } = query
      record({
        action: 'scim_mapping.delete',
        ...describeMapping(mapping),
        before: mapping,
        details: { keep_members },
      })
      return { deleted: true as const }
    }),
})

export const mappingOperations = [
  listScimGroupMappings,
  createScimGroupMapping,
  getScimGroupMapping,
  updateScimGroupMapping,
  deleteScimGroupMapping,
]

async function requireMapping(db: Db, organizationId: string, id: string): Promise<Mapping> {
  const mapping = await findMapping(db, organizationId, id.toLowerCase())
  if (!mapping) throw gatewayError('not_found', 'The group mapping does not exist.')
  return mapping
}

function assertMayAssign(caller: Caller, workspaceId: string, role: WorkspaceRole): void {
  assertMayDelegate(caller, grantOfRole({ role: workspaceRoles[role], workspaceId }))
}

async function requireTargets(tx: Db, organizationId: string, body: z.output<typeof createBody>) {
  const group = await findGroup(tx, organizationId, body.scim_group_id)
  if (!group) throw gatewayError('not_found', 'scim_group_id: the group does not exist.')
  const workspace = await tryLockWorkspace(tx, organizationId, body.workspace_id)
  if (!workspace) throw gatewayError('not_found', 'workspace_id: the workspace does not exist.')
  return { organization_id: organizationId, scim_group_id: group.id, workspace_id: workspace.id }
}

async function applyMapping(tx: Db, gateway: Gateway, mapping: Mapping): Promise<void> {
  const { organization_id: organizationId, workspace_id } = mapping
  await applyGrants(tx, gateway.clock, { organizationId, workspaceIds: [workspace_id] })
}

/** The target of an event. */
function describeMapping({ id, workspace_id: workspaceId }: Mapping) {
  return { target: { type: 'scim_mapping', id }, workspaceId }
}

function toMappingRecord(mapping: Mapping): z.input<typeof mappingRecord> {
  return {
    id: mapping.id,
    organization_id: mapping.organization_id,
    scim_group_id: mapping.scim_group_id,
    workspace_id: mapping.workspace_id,
    role: mapping.role,
    created_at: mapping.created_at,
    updated_at: mapping.updated_at,
  }
}
