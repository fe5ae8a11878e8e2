import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { hasContentDestination } from '../../../delivery/destinations.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { assertPrivacyUnlocked } from '../../../governance/privacy-lock.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { countActiveKeys, disableKeys } from '../../../identity/keys.ts'
import { addWorkspace, lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import {
  lockWorkspace,
  requireWorkspace,
  updateWorkspace,
  type Workspace,
} from '../../../identity/workspaces.ts'
import { assertCallbackAllowed, videoSecretContext } from '../../../inference/video/webhook.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import type { Clock } from '../../../platform/time/clock.ts'
import { idList, pageQuery, queryBoolean, searchText } from '../../../platform/validation/query-params.ts'
import { recordsMirrors } from '../../../storage/shadows/shadow.ts'
import { budgetOperations } from './budgets.ts'
import { memberOperations } from './members.ts'
import {
  createBody,
  describeWorkspace,
  toSettingColumns,
  toWorkspaceRecord,
  updateBody,
  workspaceRecord,
} from './record.ts'
import { countOfEach, deleteWorkspace, listWorkspaces, maxCounted } from './store.ts'
import { findLogging, findWeakening } from './weakening.ts'

const tag = 'Workspaces'

const idParam = z.object({ id: z.string().min(1).describe('The UUID or slug of the workspace.') })
const listedWorkspace = workspaceRecord
  .extend({
    key_count: z
      .int()
      .optional()
      .describe(`Enabled keys for inference; ${maxCounted} stands for as many or more.`),
    member_count: z.int().optional().describe(`${maxCounted} stands for as many or more.`),
  })
  .meta({ id: 'ListedWorkspace' })
const workspaceResponse = z.strictObject({ data: workspaceRecord })

const listWorkspacesOperation = defineOperation({
  id: 'listWorkspaces',
  method: 'GET',
  path: '/workspaces',
  tag,
  summary: 'Lists the workspaces of the organization that the caller may read, oldest first.',
  permission: 'workspaces:read',
  query: pageQuery.extend({
    q: searchText.optional().describe('An extension: those with this text in their name or slug.'),
    ids: idList.optional(),
    include_counts: queryBoolean().optional().describe('An extension: with `key_count` and `member_count`.'),
  }),
  response: z.strictObject({ data: z.array(listedWorkspace), total_count: z.int() }),
  handle: async ({ gateway, caller, scope, query }) => {
    const reachable = scope.everywhere ? null : [...scope.workspaceIds]
    const filter = { reachable, ids: query.ids, text: query.q }
    const { rows, total } = await listWorkspaces(gateway.db, caller.organizationId, filter, query)
    if (!query.include_counts) return { data: rows.map(toWorkspaceRecord), total_count: total }
    const counts = await countOfEach(gateway.db, rows)
    return {
      data: rows.map((row) => ({ ...toWorkspaceRecord(row), ...counts.get(row.id) })),
      total_count: total,
    }
  },
})

const createWorkspaceOperation = defineOperation({
  id: 'createWorkspace',
  method: 'POST',
  path: '/workspaces',
  tag,
  summary: 'Creates a workspace.',
  description: 'It becomes the default workspace if the organization has none.',
  permission: 'workspaces:write',
  scope: 'organization',
  body: createBody,
  status: 201,
  errors: [409],
  response: workspaceResponse,
  handle: async (request) => {
    const { gateway, caller, body } = request
    const owner = { organizationId: caller.organizationId, createdBy: caller.userId }
    const input = { ...toSettingColumns(body), name: body.name, slug: body.slug }
    const workspace = await transact(request, async (tx, record) => {
      await assertPrivacyUnlocked(tx, caller.organizationId, findLogging(input))
      const created = await addWorkspace(tx, gateway.clock, owner, input)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'workspaces', caller.organizationId)
      record({ action: 'workspace.create', ...describeWorkspace(created), after: created })
      return created
    })
    return { data: toWorkspaceRecord(workspace) }
  },
})

const getWorkspaceOperation = defineOperation({
  id: 'getWorkspace',
  method: 'GET',
  path: '/workspaces/{id}',
  tag,
  summary: 'Retrieves a workspace.',
  permission: 'workspaces:read',
  params: idParam,
  errors: [404],
  response: workspaceResponse,
  handle: async ({ gateway, caller, scope, params }) => {
    const workspace = await requireWorkspace(gateway.db, caller.organizationId, params.id)
    assertWithinScope(scope, { workspaceId: workspace.id })
    return { data: toWorkspaceRecord(workspace) }
  },
})

const updateWorkspaceOperation = defineOperation({
  id: 'updateWorkspace',
  method: 'PATCH',
  path: '/workspaces/{id}',
  tag,
  summary: 'Updates a workspace. Fields that are not sent stay unchanged.',
  permission: 'workspaces:write',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: workspaceResponse,
  handle: (request) => {
    const { gateway, caller, scope, params, body } = request
    assertCallbackAllowed(gateway, body.video_callback_url, 'video_callback_url')
    return transact(request, async (tx, record) => {
      const workspace = await lockWorkspace(tx, caller.organizationId, params.id)
      assertWithinScope(scope, { workspaceId: workspace.id })
      const changes = { ...toSettingColumns(body), ...encryptVideoSecret(gateway, workspace, body) }
      if (Object.keys(changes).length === 0) return { data: toWorkspaceRecord(workspace) }
      const sharesContent = await hasContentDestination(tx, workspace.id)
      const weakening = findWeakening(workspace, { ...workspace, ...changes }, sharesContent)
      await assertPrivacyUnlocked(tx, caller.organizationId, weakening)
      const after = await updateWorkspace(tx, gateway.clock, workspace.id, changes)
      record({ action: 'workspace.update', ...describeWorkspace(after), before: workspace, after })
      return { data: toWorkspaceRecord(after) }
    })
  },
})

const deleteWorkspaceOperation = defineOperation({
  id: 'deleteWorkspace',
  method: 'DELETE',
  path: '/workspaces/{id}',
  tag,
  summary: 'Deletes a workspace with its memberships, budgets, destinations and BYOK keys.',
  description:
    'A workspace with active keys cannot be deleted, nor one that shadows record their mirrors in; shadows of its requests are deleted with it. Deleting the default workspace must be confirmed, and disables its inference keys instead.',
  permission: 'workspaces:write',
  scope: 'organization',
  params: idParam,
  query: z.object({ confirm_default_workspace_deletion: queryBoolean().optional() }),
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, params, query } = request
      await lockOrganization(tx, caller.organizationId)
      const workspace = await lockWorkspace(tx, caller.organizationId, params.id)
      if (!workspace.is_default) await rejectActiveKeys(tx, gateway.clock, workspace)
      else if (!query.confirm_default_workspace_deletion) throw unconfirmedDeletionError()
      if (await recordsMirrors(tx, workspace.id)) throw mirrorsError()
      const scope = { workspaceId: workspace.id }
      const disabled_keys = workspace.is_default ? await disableKeys(tx, gateway.clock, scope) : 0
      await deleteWorkspace(tx, gateway.clock, workspace.id)
      const change = { before: workspace, details: { disabled_keys } }
      record({ action: 'workspace.delete', ...describeWorkspace(workspace), ...change })
      return { deleted: true as const }
    }),
})

export const workspaceOperations = [
  listWorkspacesOperation,
  createWorkspaceOperation,
  getWorkspaceOperation,
  updateWorkspaceOperation,
  deleteWorkspaceOperation,
  ...memberOperations,
  ...budgetOperations,
]

function encryptVideoSecret(
  { vault }: Gateway,
  { id }: Workspace,
  { video_callback_secret: secret }: { video_callback_secret?: string | null | undefined },
): Pick<Partial<Workspace>, 'sealed_video_secret'> {
  if (secret === undefined) return {}
  return { sealed_video_secret: secret === null ? null : vault.encrypt(secret, videoSecretContext(id)) }
}

async function rejectActiveKeys(tx: Db, clock: Clock, workspace: Workspace): Promise<void> {
  const active = await countActiveKeys(tx, clock, { workspaceId: workspace.id })
  if (active > 0)
    throw gatewayError(
      'invalid_request',
      `The workspace has active keys (${active}): disable or delete them first.`,
    )
}

function mirrorsError() {
  return gatewayError(
    'invalid_request',
    'Shadows record their mirrors in the workspace: delete the shadows first.',
  )
}

function unconfirmedDeletionError() {
  return gatewayError(
    'invalid_request',
    'confirm_default_workspace_deletion: must be true to delete the default workspace and disable its keys.',
  )
}
