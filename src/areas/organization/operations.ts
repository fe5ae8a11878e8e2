import { z } from 'zod'
import { assertWithinCeiling } from '../../account/ceilings.ts'
import { createMember, displayNameOf, emailOf, type Member, requireMember } from '../../account/members.ts'
import { lockOrganization, removeMember, updateMember } from '../../account/organizations.ts'
import { defineOperation } from '../../http/operation.ts'
import { nameField } from '../../lib/name-schema.ts'
import { idList, pageQuery, searchText } from '../../lib/query-params.ts'
import { assertMayAddMember, assertMayChangeRole } from '../../pipeline/request/delegate.ts'
import { transact } from '../../pipeline/request/transact.ts'
import { pluginOperations } from './plugins.ts'
import { listMembers } from './store.ts'

const role = z.enum(['org:admin', 'org:member'])

const memberRecord = z
  .strictObject({
    id: z.string(),
    email: z.string().describe('Empty if the identity provider sent no address.'),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    role,
  })
  .meta({ id: 'OrganizationMember' })

const idParam = z.object({ id: z.string().min(1).max(256) })
const personName = nameField(100).nullish()

const createBody = z.strictObject({
  email: z
    .string()
    .trim()
    .toLowerCase()
    .max(254)
    .pipe(z.email('must be an e-mail address'))
    .meta({ override: { type: 'string', pattern: z.regexes.email.source, maxLength: 254 } }),
  first_name: personName,
  last_name: personName,
  role: role.default('org:member'),
})

const updateBody = z.strictObject({
  first_name: personName,
  last_name: personName,
  role: role.optional(),
})

const listOrganizationMembers = defineOperation({
  id: 'listOrganizationMembers',
  method: 'GET',
  path: '/organization/members',
  tag: 'Organization',
  summary: 'Lists the members of the organization, oldest first.',
  description: 'A caller with the permission in some workspaces only sees the members of these.',
  permission: 'members:read',
  query: pageQuery.extend({
    q: searchText.optional().describe('An extension: those with this text in their name, address or id.'),
    ids: idList.optional(),
  }),
  response: z.strictObject({ data: z.array(memberRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, reach, query }) => {
    const workspaceIds = reach.everywhere ? null : [...reach.workspaceIds]
    const filter = { workspaceIds, ids: query.ids, text: query.q }
    const { rows, total } = await listMembers(gateway.db, caller.organizationId, filter, query)
    return { data: rows.map(toMemberRecord), total_count: total }
  },
})

const getOrganizationMember = defineOperation({
  id: 'getOrganizationMember',
  method: 'GET',
  path: '/organization/members/{id}',
  tag: 'Admin',
  summary: 'Retrieves a member of the organization.',
  permission: 'members:read',
  scope: 'organization',
  params: idParam,
  errors: [404],
  response: z.strictObject({ data: memberRecord }),
  handle: async ({ gateway, caller, params }) => ({
    data: toMemberRecord(await requireMember(gateway.db, caller.organizationId, params.id)),
  }),
})

const createOrganizationMember = defineOperation({
  id: 'createOrganizationMember',
  method: 'POST',
  path: '/organization/members',
  tag: 'Admin',
  summary: 'Adds a member to the organization and to its default workspace.',
  description:
    'A caller who may do less in the organization or its default workspace than the member could gets 403. Only a caller with all permissions can add an admin.',
  permission: 'members:write',
  scope: 'organization',
  body: createBody,
  status: 201,
  errors: [409],
  response: z.strictObject({ data: memberRecord }),
  handle: async (request) => {
    const { gateway, caller, body } = request
    const member = await transact(request, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      await assertMayAddMember(tx, caller, body.role)
      const created = await createMember(tx, gateway.clock, {
        organizationId: caller.organizationId,
        email: body.email,
        firstName: body.first_name ?? null,
        lastName: body.last_name ?? null,
        role: body.role,
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'members', caller.organizationId)
      record({ action: 'member.create', ...describeMember(created), after: created })
      return created
    })
    return { data: toMemberRecord(member) }
  },
})

const updateOrganizationMember = defineOperation({
  id: 'updateOrganizationMember',
  method: 'PATCH',
  path: '/organization/members/{id}',
  tag: 'Admin',
  summary: 'Updates the name or role of a member. The role changes in every workspace too.',
  description: 'Only a caller with all permissions can change who is an admin.',
  permission: 'members:write',
  scope: 'organization',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: z.strictObject({ data: memberRecord }),
  handle: async (request) => {
    const { gateway, caller, params, body } = request
    const changes = {
      ...(body.first_name !== undefined && { first_name: body.first_name }),
      ...(body.last_name !== undefined && { last_name: body.last_name }),
      ...(body.role !== undefined && { role: body.role }),
    }
    const member = await transact(request, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireMember(tx, caller.organizationId, params.id)
      if (body.role !== undefined) assertMayChangeRole(caller, before.role, body.role)
      const after = await updateMember(tx, gateway.clock, before, changes)
      record({ action: 'member.update', ...describeMember(after), before, after })
      return after
    })
    return { data: toMemberRecord(member) }
  },
})

const deleteOrganizationMember = defineOperation({
  id: 'deleteOrganizationMember',
  method: 'DELETE',
  path: '/organization/members/{id}',
  tag: 'Admin',
  summary: 'Removes a member and disables the inference keys the member created.',
  description: 'Only a caller with all permissions can remove an admin.',
  permission: 'members:write',
  scope: 'organization',
  params: idParam,
  errors: [404, 409],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, params } = request
      await lockOrganization(tx, caller.organizationId)
      const before = await requireMember(tx, caller.organizationId, params.id)
      assertMayChangeRole(caller, before.role)
      const details = await removeMember(tx, gateway.clock, caller.organizationId, params.id)
      record({ action: 'member.delete', ...describeMember(before), before, details })
      return { deleted: true as const }
    }),
})

export const organizationOperations = [
  listOrganizationMembers,
  getOrganizationMember,
  createOrganizationMember,
  updateOrganizationMember,
  deleteOrganizationMember,
  ...pluginOperations,
]

function describeMember(member: Member) {
  return { target: { type: 'member', id: member.id, name: displayNameOf(member) } }
}

function toMemberRecord(member: Member): z.input<typeof memberRecord> {
  return {
    id: member.id,
    email: emailOf(member) ?? '',
    first_name: member.first_name,
    last_name: member.last_name,
    role: member.role,
  }
}
