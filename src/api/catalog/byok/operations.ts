import { z } from 'zod'
import {
  listedWorkspace,
  resolveListedWorkspaces,
  resolveReachableWorkspace,
} from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { parseModelRule } from '../../../catalog/model-rule.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { requireWorkspaceKeys } from '../../../identity/key-lists.ts'
import { findMembers } from '../../../identity/members.ts'
import { lockWorkspace } from '../../../identity/workspaces.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { encryptKey } from './credential.ts'
import { listByokHealth } from './health.ts'
import { orderByokKeys } from './order.ts'
import {
  type ByokSettings,
  byokRecord,
  createBody,
  describeKey,
  toByokRecord,
  toSettingColumns,
  updateBody,
} from './record.ts'
import {
  findProviderOrigin,
  rejectKeylessProvider,
  resolveKeyLabel,
  resolveProviderSlug,
} from './resolve-provider.ts'
import { byokKeys, findNextSortOrder, requireReachable } from './store.ts'
import { testByokDraft, testByokKey } from './test-key.ts'

const tag = 'BYOK'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const byokResponse = z.strictObject({ data: byokRecord })

const listByokKeys = defineOperation({
  id: 'listByokKeys',
  method: 'GET',
  path: '/byok',
  tag,
  summary: 'Lists the BYOK keys of a workspace in the order they are tried.',
  permission: 'byok:read',
  query: pageQuery.extend({
    workspace_id: listedWorkspace,
    provider: z.string().min(1).max(100).optional(),
  }),
  response: z.strictObject({ data: z.array(byokRecord), total_count: z.int() }),
  handle: async (context) => {
    const { gateway, query } = context
    const provider = query.provider === undefined ? undefined : resolveProviderSlug(gateway, query.provider)
    const workspaceIds = await resolveListedWorkspaces(gateway.db, context, query.workspace_id)
    const scope = { workspaceIds, filters: { provider } }
    const { rows, total } = await byokKeys.list(gateway.db, scope, query)
    return { data: rows.map(toByokRecord), total_count: total }
  },
})

const createByokKey = defineOperation({
  id: 'createByokKey',
  method: 'POST',
  path: '/byok',
  tag,
  summary: 'Creates a BYOK key: your own credential for a provider.',
  permission: 'byok:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: byokResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    const { organizationId } = caller
    const provider = resolveProviderSlug(gateway, body.provider)
    rejectKeylessProvider(gateway, provider)
    const label = resolveKeyLabel(gateway, provider, body.key)
    const settings = toSettingColumns(await validateSettings(gateway, gateway.db, organizationId, body))
    const { allowed_api_key_hashes: hashes } = body
    validateCombination({ ...defaultSettings, ...settings })
    const { id: workspaceId } = await resolveReachableWorkspace(gateway.db, context, body.workspace_id)
    const id = newUuid()
    const row = await transact(context, async (tx, record) => {
      await lockWorkspace(tx, organizationId, workspaceId)
      await requireWorkspaceKeys(tx, workspaceId, 'allowed_api_key_hashes', hashes)
      const { count, sortOrder } = await findNextSortOrder(tx, workspaceId, provider)
      if (count >= maxKeysPerProvider)
        throw gatewayError(
          'conflict',
          `The workspace has ${maxKeysPerProvider} BYOK keys for ${provider} already: delete one first.`,
        )
      const created = await byokKeys.insert(tx, gateway.clock, {
        ...defaultSettings,
        ...settings,
        id,
        organization_id: organizationId,
        workspace_id: workspaceId,
        provider,
        label,
        sealed_key: encryptKey(gateway.vault, id, body.key),
        origin: findProviderOrigin(gateway, provider),
        sort_order: sortOrder,
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'byok_keys', workspaceId)
      record({ action: 'byok_key.create', ...describeKey(created), after: created })
      return created
    })
    return { data: toByokRecord(row) }
  },
})

const getByokKey = defineOperation({
  id: 'getByokKey',
  method: 'GET',
  path: '/byok/{id}',
  tag,
  summary: 'Retrieves a BYOK key, without the credential.',
  permission: 'byok:read',
  params: idParam,
  errors: [404],
  response: byokResponse,
  handle: async ({ gateway, caller, scope, params }) => ({
    data: toByokRecord(
      requireReachable(scope, await byokKeys.find(gateway.db, caller.organizationId, params.id)),
    ),
  }),
})

const updateByokKey = defineOperation({
  id: 'updateByokKey',
  method: 'PATCH',
  path: '/byok/{id}',
  tag,
  summary: 'Updates a BYOK key. Fields that are not sent stay unchanged; `key` replaces the credential.',
  permission: 'byok:write',
  params: idParam,
  body: updateBody,
  errors: [404],
  response: byokResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, scope, params, body } = context
      const row = requireReachable(scope, await byokKeys.lock(tx, caller.organizationId, params.id))
      const { allowed_api_key_hashes: hashes } = body
      await requireWorkspaceKeys(tx, row.workspace_id, 'allowed_api_key_hashes', hashes)
      const changes = {
        ...toSettingColumns(await validateSettings(gateway, tx, caller.organizationId, body)),
        ...(body.key !== undefined && {
          label: resolveKeyLabel(gateway, row.provider, body.key),
          sealed_key: encryptKey(gateway.vault, row.id, body.key),
          origin: findProviderOrigin(gateway, row.provider),
        }),
      }
      validateCombination({ ...row, ...changes })
      if (Object.keys(changes).length === 0) return { data: toByokRecord(row) }
      const changed = await byokKeys.update(tx, gateway.clock, row.id, changes)
      record({ action: 'byok_key.update', ...describeKey(changed), before: row, after: changed })
      return { data: toByokRecord(changed) }
    }),
})

const deleteByokKey = defineOperation({
  id: 'deleteByokKey',
  method: 'DELETE',
  path: '/byok/{id}',
  tag,
  summary: 'Deletes a BYOK key and wipes its credential.',
  permission: 'byok:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, scope, params } = context
      const row = requireReachable(scope, await byokKeys.lock(tx, caller.organizationId, params.id))
      await byokKeys.remove(tx, gateway.clock, row.id)
      record({ action: 'byok_key.delete', ...describeKey(row), before: row })
      return { deleted: true as const }
    }),
})

/** One request may try each of them. */
const maxKeysPerProvider = 50

export const byokOperations = [
  listByokKeys,
  createByokKey,
  listByokHealth,
  orderByokKeys,
  testByokDraft,
  getByokKey,
  updateByokKey,
  deleteByokKey,
  testByokKey,
]

const defaultSettings = {
  name: null,
  disabled: 0,
  is_fallback: 0,
  is_byok_only: 0,
  is_required: 0,
  declared_zdr: null,
  allowed_models: null,
  allowed_api_key_hashes: null,
  allowed_user_ids: null,
} as const

/** Normalizes models to canonical slugs and checks that members belong to the organization. */
async function validateSettings(
  gateway: Gateway,
  db: Db,
  organizationId: string,
  body: ByokSettings,
): Promise<ByokSettings> {
  const { allowed_models: models, allowed_user_ids: users } = body
  if (users?.length) {
    const known = new Set((await findMembers(db, organizationId, users)).map((member) => member.id))
    rejectUnknown('allowed_user_ids', users, known, 'is not a member of the organization')
  }
  return models
    ? {
        ...body,
        allowed_models: models.map((slug, at) =>
          parseModelRule(gateway.catalog, slug, `allowed_models.${at}`),
        ),
      }
    : body
}

function rejectUnknown(field: string, values: string[], known: ReadonlySet<string>, problem: string): void {
  const unknown = values.findIndex((value) => !known.has(value))
  if (unknown >= 0) throw invalidFieldError(`${field}.${unknown}`, `${values[unknown]} ${problem}`)
}

/** BYOK-only excludes shared capacity; a fallback key is tried after shared capacity. */
function validateCombination(settings: { is_fallback: number; is_byok_only: number }): void {
  if (settings.is_fallback === 1 && settings.is_byok_only === 1)
    throw invalidFieldError('is_byok_only', 'cannot be combined with is_fallback')
}
