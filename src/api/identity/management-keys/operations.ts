import { z } from 'zod'
import { grantOfKey } from '../../../access/authorize.ts'
import type { Caller } from '../../../access/caller.ts'
import { assertMayDelegate } from '../../../access/delegate.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { type ApiKey, createKey, deleteKey, type NewKey } from '../../../identity/keys.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { findFirstWorkspaceId } from '../../../identity/workspaces.ts'
import type { Db } from '../../../platform/db/db.ts'
import { encodeList, toFlag } from '../../../platform/db/values.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { createBody, managementKeyRecord, toManagementKeyRecord, updateBody } from './record.ts'
import {
  filterWorkspaceIds,
  findManagementKey,
  listManagementKeys,
  type ManagementKeyChanges,
  updateManagementKey,
} from './store.ts'

const tag = 'Management keys'
const hashParam = z.object({ hash: z.string().min(1).max(256).describe("The key's hash (SHA-256, in hex).") })
const keyResponse = z.strictObject({ data: managementKeyRecord })

const listManagementKeysOperation = defineOperation({
  id: 'listManagementKeys',
  method: 'GET',
  path: '/management-keys',
  tag,
  summary: 'Lists the management keys of the organization, newest first.',
  permission: 'management_keys:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(managementKeyRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listManagementKeys(gateway.db, caller.organizationId, query)
    return { data: rows.map(toManagementKeyRecord), total_count: total }
  },
})

const createManagementKey = defineOperation({
  id: 'createManagementKey',
  method: 'POST',
  path: '/management-keys',
  tag,
  summary: 'Creates a management key. The secret is shown only in this response.',
  description:
    'The key can be limited to some permissions, and to some workspaces. It never may do more than its creator: a caller who is limited must limit the key as well, and a key that expires makes no key that expires later.',
  permission: 'management_keys:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: z.strictObject({ data: managementKeyRecord, key: z.string() }),
  handle: async (request) => {
    const { gateway, caller, body } = request
    rejectPastExpiry(gateway, body.expires_at)
    rejectLongerLife(caller, body.expires_at ?? null)
    const { key, secret } = await transact(request, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      await validateWorkspaces(tx, caller, body.workspace_ids)
      const input: NewKey = {
        organizationId: caller.organizationId,
        workspaceId: await findFirstWorkspaceId(tx, caller.organizationId),
        kind: 'management',
        name: body.name,
        creatorUserId: caller.userId,
        expiresAt: body.expires_at ?? null,
        permissions: body.permissions ?? null,
        workspaceIds: body.workspace_ids ?? null,
      }
      const created = await createKey(tx, gateway.clock, input)
      assertMayDelegate(caller, grantOfKey(created.key))
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'keys', caller.organizationId)
      record({ action: 'management_key.create', ...describeKey(created.key), after: created.key })
      return created
    })
    return { data: toManagementKeyRecord(key), key: secret }
  },
})

const getManagementKey = defineOperation({
  id: 'getManagementKey',
  method: 'GET',
  path: '/management-keys/{hash}',
  tag,
  summary: 'Retrieves a management key.',
  permission: 'management_keys:read',
  params: hashParam,
  errors: [404],
  response: keyResponse,
  handle: async ({ gateway, caller, params }) => ({
    data: toManagementKeyRecord(await requireKey(gateway.db, caller, params.hash)),
  }),
})

const updateManagementKeyOperation = defineOperation({
  id: 'updateManagementKey',
  method: 'PATCH',
  path: '/management-keys/{hash}',
  tag,
  summary: 'Updates a management key, with effect at once. Fields that are not sent stay unchanged.',
  description: 'A caller can only disable a key that may do more than the caller.',
  permission: 'management_keys:write',
  params: hashParam,
  body: updateBody,
  errors: [404, 409],
  response: keyResponse,
  handle: async (request) => {
    const { gateway, caller, params, body } = request
    rejectPastExpiry(gateway, body.expires_at)
    if (body.expires_at !== undefined) rejectLongerLife(caller, body.expires_at)
    const changes = toChanges(body)
    const changed = await transact(request, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      await validateWorkspaces(tx, caller, body.workspace_ids)
      const before = await requireChangeableKey(tx, caller, params.hash)
      const after = await updateManagementKey(tx, gateway.clock, before.id, changes)
      if (!isOnlyDisabled(changes)) assertMayDelegate(caller, grantOfKey(after))
      record({ action: 'management_key.update', ...describeKey(after), before, after })
      return after
    })
    return { data: toManagementKeyRecord(changed) }
  },
})

const deleteManagementKey = defineOperation({
  id: 'deleteManagementKey',
  method: 'DELETE',
  path: '/management-keys/{hash}',
  tag,
  summary: 'Deletes a management key permanently, with effect at once.',
  permission: 'management_keys:write',
  params: hashParam,
  errors: [404, 409],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, params } = request
      await lockOrganization(tx, caller.organizationId)
      const before = await requireChangeableKey(tx, caller, params.hash)
      await deleteKey(tx, gateway.clock, before)
      record({ action: 'management_key.delete', ...describeKey(before), before })
      return { deleted: true as const }
    }),
})

export const managementKeyOperations = [
  listManagementKeysOperation,
  createManagementKey,
  getManagementKey,
  updateManagementKeyOperation,
  deleteManagementKey,
]

async function requireKey(db: Db, { organizationId }: Caller, hash: string): Promise<ApiKey> {
  const key = await findManagementKey(db, organizationId, hash)
  if (!key) throw gatewayError('not_found', 'The management key does not exist.')
  return key
}

async function requireChangeableKey(tx: Db, caller: Caller, hash: string): Promise<ApiKey> {
  const key = await requireKey(tx, caller, hash)
  if (key.source === 'environment')
    throw gatewayError('conflict', 'This key is HEADGATE_MANAGEMENT_KEY: change it in the environment.')
  return key
}

function rejectPastExpiry({ clock }: Gateway, expiresAt: string | null | undefined): void {
  if (expiresAt && Date.parse(expiresAt) <= clock.now())
    throw invalidFieldError('expires_at', 'is in the past')
}

/** Rejects a key that outlives the caller's key: otherwise a key that expires would have no end. */
function rejectLongerLife({ key, session }: Caller, expiresAt: string | null): void {
  if (session || key.expires_at === null) return
  if (expiresAt === null || Date.parse(expiresAt) > Date.parse(key.expires_at))
    throw invalidFieldError('expires_at', `must be at most ${key.expires_at}, when the calling key expires`)
}

async function validateWorkspaces(
  tx: Db,
  { organizationId }: Caller,
  ids: readonly string[] | null | undefined,
): Promise<void> {
  if (!ids) return
  const known = await filterWorkspaceIds(tx, organizationId, ids)
  const unknown = ids.findIndex((id) => !known.has(id))
  if (unknown >= 0)
    throw invalidFieldError(`workspace_ids.${unknown}`, 'is not a workspace of the organization')
}

function toChanges(body: z.output<typeof updateBody>): ManagementKeyChanges {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.permissions !== undefined && { permissions: encodeList(body.permissions) }),
    ...(body.workspace_ids !== undefined && { workspace_ids: encodeList(body.workspace_ids) }),
    ...(body.expires_at !== undefined && { expires_at: body.expires_at }),
    ...(body.disabled !== undefined && { disabled: toFlag(body.disabled) }),
  }
}

function isOnlyDisabled(changes: ManagementKeyChanges): boolean {
  return changes.disabled === 1 && Object.keys(changes).length === 1
}

function describeKey({ hash, name }: ApiKey) {
  return { target: { type: 'management_key', id: hash, name } }
}
