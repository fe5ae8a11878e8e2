import { z } from 'zod'
import { resolveCoveredWorkspaces, resolveReachableWorkspace } from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { createAliasRow, validateExpiration } from './create.ts'
import { aliasRecord, createBody, describeAlias, toAliasRecord, updateBody } from './record.ts'
import { changeModels } from './split.ts'
import { deleteAlias, listAliases, modelAliases, saveAlias } from './store.ts'
import { rejectUsedAlias, resolveRules } from './targets.ts'

const tag = 'Model aliases'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const aliasResponse = z.strictObject({ data: aliasRecord })

const listModelAliases = defineOperation({
  id: 'listModelAliases',
  method: 'GET',
  path: '/model-aliases',
  tag,
  summary: 'Lists the names of the organization and its workspaces for models.',
  permission: 'model_aliases:read',
  query: pageQuery.extend({
    workspace_id: z
      .uuid()
      .optional()
      .describe('Only those that requests of this workspace can use. Defaults to every workspace.'),
  }),
  response: z.strictObject({ data: z.array(aliasRecord), total_count: z.int() }),
  handle: async (context) => {
    const { gateway, caller, query } = context
    const workspaces = await resolveCoveredWorkspaces(gateway.db, context, query.workspace_id)
    const ids = workspaces && [...workspaces]
    const { rows, total } = await listAliases(gateway.db, caller.organizationId, ids, query)
    return { data: rows.map(toAliasRecord), total_count: total }
  },
})

const createModelAlias = defineOperation({
  id: 'createModelAlias',
  method: 'POST',
  path: '/model-aliases',
  tag,
  summary: 'Creates a name for a model, or for a group of models.',
  description:
    'Requests that name the alias reach its models, in their order, or one of its targets, by their weights. In `allowed_models` and `ignored_models` of a guardrail, `@name` stands for all of them. A name of a workspace takes precedence over one of the organization.',
  permission: 'model_aliases:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: aliasResponse,
  handle: async (context) => {
    const { gateway, caller, scope, body } = context
    const { organizationId } = caller
    const workspaceId =
      body.workspace_id === null
        ? null
        : (await resolveReachableWorkspace(gateway.db, context, body.workspace_id)).id
    assertWithinScope(scope, { workspaceId })
    const row = await transact(context, (tx, record) => {
      const settings = {
        organization_id: organizationId,
        workspace_id: workspaceId,
        name: body.name,
        ...changeModels({ name: body.name, models: '[]', split: null }, body),
        expires_at: body.expires_at ?? null,
        replacement: body.replacement ?? null,
      }
      return createAliasRow({ gateway, catalog: gateway.catalog, tx, record }, settings)
    })
    return { data: toAliasRecord(row) }
  },
})

const getModelAlias = defineOperation({
  id: 'getModelAlias',
  method: 'GET',
  path: '/model-aliases/{id}',
  tag,
  summary: 'Retrieves a model alias.',
  permission: 'model_aliases:read',
  params: idParam,
  errors: [404],
  response: aliasResponse,
  handle: async (context) => ({
    data: toAliasRecord(await modelAliases.require(context.gateway.db, context)),
  }),
})

const updateModelAlias = defineOperation({
  id: 'updateModelAlias',
  method: 'PATCH',
  path: '/model-aliases/{id}',
  tag,
  summary: 'Moves a model alias to other models, or sets when it expires. Fields that are not sent stay.',
  description: 'Requests that begin afterwards reach the new models.',
  permission: 'model_aliases:write',
  params: idParam,
  body: updateBody,
  errors: [404, 409],
  response: aliasResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, body } = context
      await lockOrganization(tx, caller.organizationId)
      const row = await modelAliases.lock(tx, context)
      const settings = {
        ...row,
        ...changeModels(row, body),
        ...(body.expires_at !== undefined && { expires_at: body.expires_at }),
        ...(body.replacement !== undefined && { replacement: body.replacement }),
      }
      validateExpiration(settings)
      const rules = await resolveRules(tx, gateway.catalog, settings)
      const changed = { ...settings, rules, updated_at: isoNow(gateway.clock) }
      await saveAlias(tx, changed)
      record({ action: 'model_alias.update', ...describeAlias(row), before: row, after: changed })
      return { data: toAliasRecord(changed) }
    }),
})

const deleteModelAlias = defineOperation({
  id: 'deleteModelAlias',
  method: 'DELETE',
  path: '/model-aliases/{id}',
  tag,
  summary: 'Deletes a model alias that neither a guardrail, nor a routing rule, nor another alias names.',
  permission: 'model_aliases:write',
  params: idParam,
  errors: [404, 409],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      await lockOrganization(tx, context.caller.organizationId)
      const row = await modelAliases.lock(tx, context)
      await rejectUsedAlias(tx, row)
      await deleteAlias(tx, row.id)
      record({ action: 'model_alias.delete', ...describeAlias(row), before: row })
      return { deleted: true as const }
    }),
})

export const modelAliasOperations = [
  listModelAliases,
  createModelAlias,
  getModelAlias,
  updateModelAlias,
  deleteModelAlias,
]
