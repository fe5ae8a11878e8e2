import { z } from 'zod'
import { scopeOf } from '../../../access/authorize.ts'
import { assertMayAddMember, assertMayChangeRole } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { changeMemberLimit, findMemberLimit, type MemberLimit } from '../../../identity/member-limits.ts'
import {
  createMember,
  displayNameOf,
  emailOf,
  type Member,
  requireMember,
} from '../../../identity/members.ts'
import { lockOrganization, removeMember, updateMember } from '../../../identity/organizations.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import { computeRemainingLimit, type KeyUsage, loadMemberUsage, zeroUsage } from '../../../ledger/usage.ts'
import type { Db } from '../../../platform/db/db.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { usdAmount } from '../../../platform/money/money-schema.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { idList, pageQuery, queryBoolean, searchText } from '../../../platform/validation/query-params.ts'
import { pluginOperations } from './plugins.ts'
import { listMembers, maxNamed, readActivity } from './store.ts'

const role = z.enum(['org:admin', 'org:member'])
const limitReset = z.enum(['daily', 'weekly', 'monthly'])

const memberRecord = z.strictObject({
  id: z.string(),
  email: z.string().describe('Empty if the identity provider sent no address.'),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  role,
  managed_by: managedBy,
})

const listedMember = memberRecord
  .extend({
    workspaces: z
      .array(z.strictObject({ id: z.string(), name: z.string() }))
      .optional()
      .describe(`The first ${maxNamed} workspaces of the member that the caller may see, by name.`),
    last_seen_at: z
      .string()
      .nullable()
      .optional()
      .describe(
        'When a session of the member in the console was last used; null without a session, and for callers without the permission `sessions:read` everywhere.',
      ),
  })
  .meta({ id: 'OrganizationMember' })

const memberDetails = memberRecord
  .extend({
    limit: z
      .number()
      .nullable()
      .describe('What all keys of the member may spend together, in USD; null for no limit.'),
    limit_remaining: z.number().nullable(),
    limit_reset: limitReset.nullable().describe('null if the limit never resets.'),
    managed_by: managedBy,
  })
  .meta({ id: 'OrganizationMemberDetails' })

const limitFields = { limit: usdAmount.nullish(), limit_reset: limitReset.nullish() }

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
  ...limitFields,
})

const updateBody = z.strictObject({
  first_name: personName,
  last_name: personName,
  role: role.optional(),
  ...limitFields,
})

const listOrganizationMembers = defineOperation({
  id: 'listOrganizationMembers',
  method: 'GET',
  path: '/organization/members',
  tag: 'Members',
  summary: 'Lists the members of the organization, oldest first.',
  description: 'A caller with the permission in some workspaces only sees the members of these.',
  permission: 'members:read',
  query: pageQuery.extend({
    q: searchText.optional().describe('An extension: those with this text in their name, address or id.'),
    ids: idList.optional(),
    role: role.optional().describe('An extension: those with this role in the organization.'),
    workspace_id: z.uuid().optional().describe('An extension: the members of this workspace.'),
    include_activity: queryBoolean()
      .optional()
      .describe('An extension: with `workspaces` and `last_seen_at`.'),
  }),
  response: z.strictObject({ data: z.array(listedMember), total_count: z.int() }),
  handle: async ({ gateway, caller, scope, query }) => {
    const { workspace_id: workspaceId } = query
    if (workspaceId !== undefined) assertWithinScope(scope, { workspaceId })
    const visible = scope.everywhere ? null : [...scope.workspaceIds]
    const workspaceIds = workspaceId === undefined ? visible : [workspaceId]
    const filter = { workspaceIds, ids: query.ids, text: query.q, role: query.role }
    const { rows, total } = await listMembers(gateway.db, caller.organizationId, filter, query)
    if (!query.include_activity) return { data: rows.map(toMemberRecord), total_count: total }
    const activity = await readActivity(gateway.db, rows, visible)
    const seesSessions = scopeOf(caller, 'sessions:read').everywhere
    return {
      data: rows.map((row) => ({
        ...toMemberRecord(row),
        workspaces: activity.get(row.id)?.workspaces ?? [],
        last_seen_at: (seesSessions && activity.get(row.id)?.lastSeenAt) || null,
      })),
      total_count: total,
    }
  },
})

const getOrganizationMember = defineOperation({
  id: 'getOrganizationMember',
  method: 'GET',
  path: '/organization/members/{id}',
  tag: 'Members',
  summary: 'Retrieves a member of the organization.',
  permission: 'members:read',
  scope: 'organization',
  params: idParam,
  errors: [404],
  response: z.strictObject({ data: memberDetails }),
  handle: async ({ gateway, caller, params }) => ({
    data: await toMemberDetails(gateway, await requireMember(gateway.db, caller.organizationId, params.id)),
  }),
})

const createOrganizationMember = defineOperation({
  id: 'createOrganizationMember',
  method: 'POST',
  path: '/organization/members',
  tag: 'Members',
  summary: 'Adds a member to the organization and to its default workspace.',
  description:
    'A caller who may do less in the organization or its default workspace than the member could gets 403. Only a caller with all permissions can add an admin.',
  permission: 'members:write',
  scope: 'organization',
  body: createBody,
  status: 201,
  errors: [409],
  response: z.strictObject({ data: memberDetails }),
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
      const limit = await changeLimit(tx, gateway, created, body)
      record({ action: 'member.create', ...describeMember(created), after: { ...created, ...limit } })
      return created
    })
    return { data: await toMemberDetails(gateway, member) }
  },
})

const updateOrganizationMember = defineOperation({
  id: 'updateOrganizationMember',
  method: 'PATCH',
  path: '/organization/members/{id}',
  tag: 'Members',
  summary: 'Updates the name or role of a member. The role changes in every workspace too.',
  description: 'Only a caller with all permissions can change who is an admin.',
  permission: 'members:write',
  scope: 'organization',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: z.strictObject({ data: memberDetails }),
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
      const limitBefore = await findMemberLimit(tx, before.id)
      const after = await updateMember(tx, gateway.clock, before, changes)
      const limit = await changeLimit(tx, gateway, after, body)
      record({
        action: 'member.update',
        ...describeMember(after),
        before: { ...before, ...toLimitColumns(limitBefore) },
        after: { ...after, ...limit },
      })
      return after
    })
    return { data: await toMemberDetails(gateway, member) }
  },
})

const deleteOrganizationMember = defineOperation({
  id: 'deleteOrganizationMember',
  method: 'DELETE',
  path: '/organization/members/{id}',
  tag: 'Members',
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

interface LimitBody {
  limit?: bigint | null | undefined
  limit_reset?: z.output<typeof limitReset> | null | undefined
}

async function changeLimit(tx: Db, { clock }: Gateway, { id }: Member, body: LimitBody) {
  const { limit, limit_reset: reset } = body
  if (limit === undefined && reset === undefined) return toLimitColumns(await findMemberLimit(tx, id))
  return toLimitColumns(await changeMemberLimit(tx, clock, id, { limit, reset }))
}

/** Columns of a limit as shown in the audit log. */
function toLimitColumns(limit: MemberLimit | null) {
  return { limit_nanos: limit?.limit_nanos ?? null, limit_reset: limit?.limit_reset ?? null }
}

async function toMemberDetails(
  { db, clock }: Gateway,
  member: Member,
): Promise<z.input<typeof memberDetails>> {
  const limit = await findMemberLimit(db, member.id)
  const usage = limit && (await loadMemberUsage(db, member.id, clock.now()))
  return { ...toMemberRecord(member), ...toLimitFields(limit, usage ?? zeroUsage) }
}

function toLimitFields(limit: MemberLimit | null, usage: KeyUsage) {
  const amount = limit?.limit_nanos ?? null
  const reset = limit?.limit_reset ?? null
  const remaining = computeRemainingLimit({ amount, reset, includeByok: false }, usage)
  return {
    limit: amount === null ? null : usdFromNanos(amount),
    limit_remaining: remaining === null ? null : usdFromNanos(remaining),
    limit_reset: reset,
  }
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
