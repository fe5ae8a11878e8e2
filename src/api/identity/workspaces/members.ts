import { z } from 'zod'
import { assertMayAddToWorkspace } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import { defineOperation } from '../../../http/operation.ts'
import { countActiveKeys } from '../../../identity/keys.ts'
import { findMembers, joinWorkspace, type Member } from '../../../identity/members.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import { applyGrants, listGrantedUsers } from '../../../identity/scim-grants.ts'
import { lockWorkspace, requireWorkspace, type Workspace } from '../../../identity/workspaces.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import type { Clock } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import {
  listMemberships,
  listUsersInWorkspace,
  listWorkspaceMembers,
  removeFromWorkspace,
  type WorkspaceMember,
} from './store.ts'

const tag = 'Workspaces'

const memberRecord = z
  .strictObject({
    id: z.uuid(),
    workspace_id: z.uuid(),
    user_id: z.string(),
    role: z.enum(['admin', 'member']),
    created_at: z.string(),
  })
  .meta({ id: 'WorkspaceMember' })

const idParam = z.object({ id: z.string().min(1).describe('The UUID or slug of the workspace.') })

const usersBody = z.strictObject({
  user_ids: z
    .array(z.string().min(1).max(256))
    .min(1)
    .max(100)
    .transform((ids) => [...new Set(ids)]),
})

const listMembers = defineOperation({
  id: 'listWorkspaceMembers',
  method: 'GET',
  path: '/workspaces/{id}/members',
  tag,
  summary: 'Lists the members of a workspace. The default workspace has every member of the organization.',
  permission: 'members:read',
  params: idParam,
  query: pageQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(memberRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, scope, params, query }) => {
    const workspace = await requireWorkspace(gateway.db, caller.organizationId, params.id)
    assertWithinScope(scope, { workspaceId: workspace.id })
    const { rows, total } = await listWorkspaceMembers(gateway.db, workspace.id, query)
    return { data: rows.map(toMemberRecord), total_count: total }
  },
})

const addMembers = defineOperation({
  id: 'addWorkspaceMembers',
  method: 'POST',
  path: '/workspaces/{id}/members/add',
  tag,
  summary: 'Adds members of the organization to a workspace, with their organization role.',
  description: 'A caller who may do less in the workspace than the new members could gets 403.',
  permission: 'members:write',
  params: idParam,
  body: usersBody,
  errors: [404],
  response: z.strictObject({
    added_count: z.int().describe('The number of memberships created or updated.'),
    data: z.array(memberRecord),
  }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, scope, params, body } = request
      const { organizationId } = caller
      await lockOrganization(tx, organizationId)
      const workspace = await lockWorkspace(tx, organizationId, params.id)
      assertWithinScope(scope, { workspaceId: workspace.id })
      const members = await requireMembers(tx, organizationId, body.user_ids)
      assertMayAddToWorkspace(caller, workspace.id, ...members.map(({ role }) => role))
      const [workspaceIds, userIds] = [[workspace.id], body.user_ids]
      const before = byUserId(await listMemberships(tx, workspace.id, userIds))
      await joinWorkspace(tx, gateway.clock, workspace.id, members)
      await applyGrants(tx, gateway.clock, { organizationId, workspaceIds, userIds })
      const joined = byUserId(await listMemberships(tx, workspace.id, userIds))
      for (const after of joined.values()) recordJoin(record, before.get(after.user_id) ?? null, after)
      const data = userIds.flatMap((id) => joined.get(id) ?? []).map(toMemberRecord)
      return { added_count: data.length, data }
    }),
})

const removeMembers = defineOperation({
  id: 'removeWorkspaceMembers',
  method: 'POST',
  path: '/workspaces/{id}/members/remove',
  tag,
  summary:
    'Removes members from a workspace, unless they have active keys in it or are managed by SCIM or single sign-on.',
  permission: 'members:write',
  params: idParam,
  body: usersBody,
  errors: [404],
  response: z.strictObject({ removed_count: z.int() }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, scope, params, body } = request
      await lockOrganization(tx, caller.organizationId)
      const workspace = await lockWorkspace(tx, caller.organizationId, params.id)
      assertWithinScope(scope, { workspaceId: workspace.id })
      rejectDefaultWorkspace(workspace)
      const leaving = await listUsersInWorkspace(tx, workspace.id, body.user_ids)
      if (leaving.length === 0) return { removed_count: 0 }
      await rejectGrantedMembers(tx, workspace, leaving)
      await rejectKeyHolders(tx, gateway.clock, workspace.id, leaving)
      const removed = await removeFromWorkspace(tx, workspace.id, leaving)
      for (const before of removed)
        record({ action: 'workspace_member.delete', ...describeMembership(before), before })
      return { removed_count: leaving.length }
    }),
})

export const memberOperations = [listMembers, addMembers, removeMembers]

function byUserId(memberships: WorkspaceMember[]): Map<string, WorkspaceMember> {
  return new Map(memberships.map((membership) => [membership.user_id, membership]))
}

function describeMembership({ user_id, workspace_id }: WorkspaceMember) {
  return { target: { type: 'workspace_member', id: user_id }, workspaceId: workspace_id }
}

function recordJoin(record: RecordEvent, before: WorkspaceMember | null, after: WorkspaceMember): void {
  if (before && before.role === after.role && before.is_manual === after.is_manual) return
  const action = before ? 'workspace_member.update' : 'workspace_member.create'
  record({ action, ...describeMembership(after), before, after })
}

async function requireMembers(tx: Db, organizationId: string, ids: string[]): Promise<Member[]> {
  const members = await findMembers(tx, organizationId, ids)
  const known = new Set(members.map((member) => member.id))
  const unknown = ids.filter((id) => !known.has(id))
  if (unknown.length > 0) {
    throw gatewayError('not_found', `user_ids: not in the organization: ${unknown.join(', ')}.`)
  }
  return members
}

function rejectDefaultWorkspace(workspace: Workspace): void {
  if (workspace.is_default) {
    throw gatewayError('invalid_request', 'Every member of the organization is in its default workspace.')
  }
}

async function rejectGrantedMembers(tx: Db, workspace: Workspace, userIds: string[]): Promise<void> {
  const granted = await listGrantedUsers(tx, workspace.organization_id, workspace.id, userIds)
  if (granted.length > 0) {
    throw invalidFieldError(
      'user_ids',
      `are members through a mapping of SCIM or single sign-on: ${granted.sort().join(', ')}`,
    )
  }
}

/** One count covers the common case; the members are looked up only for the error message. */
async function rejectKeyHolders(tx: Db, clock: Clock, workspaceId: string, userIds: string[]): Promise<void> {
  if ((await countActiveKeys(tx, clock, { workspaceId, creatorUserIds: userIds })) === 0) return
  const holders: string[] = []
  for (const id of userIds) {
    if ((await countActiveKeys(tx, clock, { workspaceId, creatorUserIds: [id] })) > 0) holders.push(id)
  }
  throw invalidFieldError('user_ids', `have active keys in this workspace: ${holders.join(', ')}`)
}

function toMemberRecord(membership: WorkspaceMember): z.input<typeof memberRecord> {
  return {
    id: membership.id,
    workspace_id: membership.workspace_id,
    user_id: membership.user_id,
    role: membership.role,
    created_at: membership.created_at,
  }
}
