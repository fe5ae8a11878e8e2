import { z } from 'zod'
import { refuseBeyond } from '../../account/ceilings.ts'
import { lockOrganization } from '../../account/organizations.ts'
import { applyGrants } from '../../account/scim-grants.ts'
import { tryLockWorkspace } from '../../account/workspaces.ts'
import type { Db } from '../../db/db.ts'
import { fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { pageQuery, queryBoolean } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import { findGroup } from './groups/store.ts'
import {
  deleteMapping,
  findMapping,
  findMappingOf,
  insertMapping,
  listMappings,
  type Mapping,
  makeManual,
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
  })
  .meta({ id: 'ScimGroupMapping' })

const mappingAnswer = z.strictObject({ data: mappingRecord })

const createBody = z.strictObject({
  scim_group_id: z.uuid().toLowerCase(),
  workspace_id: z.uuid().toLowerCase(),
  role,
})

const listAll = operation({
  id: 'listScimGroupMappings',
  method: 'GET',
  path: '/scim/group-mappings',
  tag,
  summary: 'List which groups give access to which workspaces, oldest first',
  access: 'management',
  query: pageQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(mappingRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listMappings(gateway.db, caller.organizationId, query)
    return { data: rows.map(recordOf), total_count: total }
  },
})

const create = operation({
  id: 'createScimGroupMapping',
  method: 'POST',
  path: '/scim/group-mappings',
  tag,
  summary: 'Give the members of a group access to a workspace',
  description:
    'The same mapping with the same role again is a success and is applied again. With another role it is 409. Of several mappings of a member to one workspace the highest role counts.',
  access: 'management',
  body: createBody,
  status: 201,
  errors: [404, 409],
  response: mappingAnswer,
  handle: ({ gateway, caller, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      await lockOrganization(tx, caller.organizationId)
      const wanted = await requireTargets(tx, caller.organizationId, body)
      const { scim_group_id, workspace_id } = wanted
      const known = await findMappingOf(tx, caller.organizationId, scim_group_id, workspace_id)
      if (known && known.role !== body.role) {
        throw fail(
          'conflict',
          `role: this group has the role ${known.role} in this workspace; change it there.`,
        )
      }
      const mapping = known ?? (await insertMapping(tx, gateway.clock, { ...wanted, role: body.role }))
      await refuseBeyond(tx, gateway.settings.ceilings, 'scim_mappings', caller.organizationId)
      await apply(tx, gateway, mapping)
      return { data: recordOf(mapping) }
    }),
})

const get = operation({
  id: 'getScimGroupMapping',
  method: 'GET',
  path: '/scim/group-mappings/{id}',
  tag,
  summary: 'Read a group mapping',
  access: 'management',
  params: idParam,
  errors: [404],
  response: mappingAnswer,
  handle: async ({ gateway, caller, params }) => ({
    data: recordOf(await requireMapping(gateway.db, caller.organizationId, params.id)),
  }),
})

const update = operation({
  id: 'updateScimGroupMapping',
  method: 'PATCH',
  path: '/scim/group-mappings/{id}',
  tag,
  summary: 'Change the role a group mapping gives; it is applied to the members of the group',
  access: 'management',
  params: idParam,
  body: z.strictObject({ role }),
  errors: [404],
  response: mappingAnswer,
  handle: ({ gateway, caller, params, body }) =>
    gateway.db.transaction().execute(async (tx) => {
      await lockOrganization(tx, caller.organizationId)
      const { id } = await requireMapping(tx, caller.organizationId, params.id)
      const mapping = await setMappingRole(tx, gateway.clock, id, body.role)
      await apply(tx, gateway, mapping)
      return { data: recordOf(mapping) }
    }),
})

const remove = operation({
  id: 'deleteScimGroupMapping',
  method: 'DELETE',
  path: '/scim/group-mappings/{id}',
  tag,
  summary: 'Delete a group mapping, and with it or without it the access it gave',
  description:
    'With keep_members=false, those who are in the workspace only through this mapping leave it. With keep_members=true they stay as if added by hand, with the role they hold in the organization. There is no default.',
  access: 'management',
  params: idParam,
  query: z.object({ keep_members: queryBoolean() }),
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: ({ gateway, caller, params, query }) =>
    gateway.db.transaction().execute(async (tx) => {
      await lockOrganization(tx, caller.organizationId)
      const mapping = await requireMapping(tx, caller.organizationId, params.id)
      if (query.keep_members) await makeManual(tx, mapping)
      await deleteMapping(tx, mapping.id)
      await apply(tx, gateway, mapping)
      return { deleted: true as const }
    }),
})

export const mappingOperations = [listAll, create, get, update, remove]

async function requireMapping(db: Db, organizationId: string, id: string): Promise<Mapping> {
  const mapping = await findMapping(db, organizationId, id.toLowerCase())
  if (!mapping) throw fail('not_found', 'The group mapping does not exist.')
  return mapping
}

async function requireTargets(tx: Db, organizationId: string, body: z.output<typeof createBody>) {
  const group = await findGroup(tx, organizationId, body.scim_group_id)
  if (!group) throw fail('not_found', 'scim_group_id: the group does not exist.')
  const workspace = await tryLockWorkspace(tx, organizationId, body.workspace_id)
  if (!workspace) throw fail('not_found', 'workspace_id: the workspace does not exist.')
  return { organization_id: organizationId, scim_group_id: group.id, workspace_id: workspace.id }
}

async function apply(tx: Db, gateway: Gateway, mapping: Mapping): Promise<void> {
  const { organization_id: organizationId, workspace_id } = mapping
  await applyGrants(tx, gateway.clock, { organizationId, workspaceIds: [workspace_id] })
}

function recordOf(mapping: Mapping): z.input<typeof mappingRecord> {
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
