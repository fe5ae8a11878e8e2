import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { findKey } from '../../../identity/keys.ts'
import { findOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { requireWorkspace, type Workspace } from '../../../identity/workspaces.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { formatTimeCursor, parseTimeCursor, type TimePosition } from '../../../platform/time/time-cursor.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { listNearBudgets } from './nearest.ts'
import {
  buildOwnerlessNode,
  loadKeyNodes,
  loadMemberNodes,
  loadOrganizationNode,
  loadWorkspaceNodes,
  noMember,
} from './nodes.ts'
import { type BudgetNode, budgetNode } from './record.ts'
import { findMemberOf, listKeysAfter, listMembersAfter, listWorkspacesAfter } from './store.ts'

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const parentPattern = new RegExp(
  `^(?:organization|workspace:${uuid}|member:${uuid}:[\\w-]{1,100}|key:[0-9a-f]{64})$`,
)

const budgetsQuery = z.object({
  parent: z
    .string()
    .regex(
      parentPattern,
      'must be organization, workspace:<id>, member:<workspace id>:<user id> or key:<hash>',
    )
    .default('organization')
    .describe(
      'The node whose children are listed: `organization` (its workspaces), `workspace:<id>` (its members), `member:<workspace id>:<user id>` (their keys there; `none` for the keys that no member created) or `key:<hash>` (none: for the key itself).',
    ),
  limit: queryInteger({ min: 1, max: 100, fallback: 50 }),
  cursor: z.string().min(1).max(200).optional().describe('The cursor from the previous page.'),
})

interface ChildPage {
  parent: BudgetNode | null
  data: BudgetNode[]
  cursor: string | null
}

interface PageRequest {
  gateway: Gateway
  caller: Caller
  scope: Scope
  query: z.output<typeof budgetsQuery>
}

const listBudgetNodes = defineOperation({
  id: 'listBudgetNodes',
  method: 'GET',
  path: '/budgets',
  tag: 'Budgets',
  summary: 'Lists what is spent, held and left, level by level: organization, workspaces, members, keys.',
  description:
    'Each node has its spending in every window, the limits on it, and a forecast to the end of the window. Keys also have the limit that would refuse a request first. Workspaces and members are listed in the order they were created, keys newest first.',
  permission: 'budgets:read',
  query: budgetsQuery,
  errors: [404],
  response: z.strictObject({
    parent: budgetNode
      .nullable()
      .describe('null for the organization if the caller may read only some workspaces.'),
    data: z.array(budgetNode),
    cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
  }),
  handle: async ({ gateway, caller, scope, query }) => {
    const request = { gateway, caller, scope, query }
    const [kind, id = '', userId] = query.parent.split(':')
    if (kind === 'organization') return listWorkspaceLevel(request)
    if (kind === 'key') return loadKeyLevel(request, id)
    const workspace = await requireWorkspace(gateway.db, caller.organizationId, id)
    assertWithinScope(scope, { workspaceId: workspace.id })
    return kind === 'workspace'
      ? listMemberLevel(request, workspace)
      : listKeyLevel(request, workspace, userId === noMember ? null : (userId ?? null))
  },
})

export const budgetTreeOperations = [listBudgetNodes, listNearBudgets]

async function listWorkspaceLevel({ gateway, caller, scope, query }: PageRequest): Promise<ChildPage> {
  const { organizationId } = caller
  const ids = scope.everywhere ? null : [...scope.workspaceIds]
  const page = { after: readCreatedAt(query.cursor), limit: query.limit }
  const [organization, workspaces] = await Promise.all([
    scope.everywhere ? findOrganization(gateway.db, organizationId) : undefined,
    listWorkspacesAfter(gateway.db, organizationId, ids, page),
  ])
  return {
    parent: organization ? await loadOrganizationNode(gateway, organization) : null,
    data: await loadWorkspaceNodes(gateway, workspaces),
    cursor: toCursor(workspaces, query.limit),
  }
}

async function listMemberLevel({ gateway, query }: PageRequest, workspace: Workspace): Promise<ChildPage> {
  const page = { after: readCreatedAt(query.cursor), limit: query.limit }
  const members = await listMembersAfter(gateway.db, workspace, page)
  const [parent] = await loadWorkspaceNodes(gateway, [workspace])
  const nodes = await loadMemberNodes(gateway, workspace.id, members)
  const cursor = toCursor(members, query.limit)
  const ownerless = cursor
    ? []
    : await listKeysAfter(gateway.db, workspace.id, null, { after: null, limit: 1 })
  const data = ownerless.length > 0 ? [...nodes, buildOwnerlessNode(gateway, workspace.id)] : nodes
  return { parent: parent ?? null, data, cursor }
}

async function listKeyLevel(
  { gateway, scope, query }: PageRequest,
  workspace: Workspace,
  userId: string | null,
): Promise<ChildPage> {
  const parent = await loadOwnerNode(gateway, workspace, userId)
  const page = { after: readKeyNumber(query.cursor), limit: query.limit }
  const keys = await listKeysAfter(gateway.db, workspace.id, userId, page)
  const owner = { workspace, userId, seesCredits: scope.everywhere }
  const last = keys.length === query.limit ? keys.at(-1) : undefined
  return {
    parent,
    data: await loadKeyNodes(gateway, keys, owner),
    cursor: last ? String(last.id) : null,
  }
}

/** A key has no children: the page has the key alone. */
async function loadKeyLevel({ gateway, caller, scope }: PageRequest, hash: string): Promise<ChildPage> {
  const key = await findKey(gateway.db, caller.organizationId, hash)
  if (key?.kind !== 'inference' || key.source === 'session') {
    throw gatewayError('not_found', 'parent: the key does not exist.')
  }
  assertWithinScope(scope, { workspaceId: key.workspace_id })
  const workspace = await requireWorkspace(gateway.db, caller.organizationId, key.workspace_id)
  const owner = { workspace, userId: key.creator_user_id, seesCredits: scope.everywhere }
  const [parent = null] = await loadKeyNodes(gateway, [key], owner)
  return { parent, data: [], cursor: null }
}

async function loadOwnerNode(
  gateway: Gateway,
  workspace: Workspace,
  userId: string | null,
): Promise<BudgetNode | null> {
  if (userId === null) return buildOwnerlessNode(gateway, workspace.id)
  const member = await findMemberOf(gateway.db, workspace, userId)
  if (!member) throw gatewayError('not_found', 'parent: the member does not exist.')
  return (await loadMemberNodes(gateway, workspace.id, [member]))[0] ?? null
}

/** A page that is not full is the last. */
function toCursor(rows: readonly TimePosition[], limit: number): string | null {
  const last = rows.length === limit ? rows.at(-1) : undefined
  return last ? formatTimeCursor(last) : null
}

function readCreatedAt(cursor: string | undefined): TimePosition | null {
  if (cursor === undefined) return null
  const position = parseTimeCursor(cursor)
  if (!position) throw invalidCursorError()
  return position
}

function readKeyNumber(cursor: string | undefined): number | null {
  if (cursor === undefined) return null
  if (!/^\d{1,15}$/.test(cursor)) throw invalidCursorError()
  return Number(cursor)
}

function invalidCursorError() {
  return invalidFieldError('cursor', 'is not a cursor of this list')
}
