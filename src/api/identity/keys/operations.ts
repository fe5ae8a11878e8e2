import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { coversAllWorkspaces, type ScopedRequest } from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { findDefaultTier, requireTier } from '../../../governance/limits/tier-store.ts'
import { encodeTagRules } from '../../../governance/tags/rules.ts'
import { tagRulesBody } from '../../../governance/tags/tag-schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { type KeyChanges, lockKey, updateKey } from '../../../identity/key-changes.ts'
import { type ApiKey, createKey, deleteKey, lockKeyOwners, type NewKey } from '../../../identity/keys.ts'
import { resolveKeyLimit, resolveMaxKeyLimit } from '../../../identity/member-key-limit.ts'
import { findMember } from '../../../identity/members.ts'
import { loadOwnerAccount } from '../../../identity/owners.ts'
import { assertWithinScope, resolveVisibleOwner, type Scope } from '../../../identity/permissions/grant.ts'
import { resolveWorkspace } from '../../../identity/workspaces.ts'
import { loadCreditTotals } from '../../../ledger/entries.ts'
import { resolveFreeRequestsPerDay } from '../../../ledger/free-limits.ts'
import { countFreeRequestsToday, loadKeyUsage, zeroUsage } from '../../../ledger/usage.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { usdAmount } from '../../../platform/money/money-schema.ts'
import { lineField, nameField } from '../../../platform/validation/name-schema.ts'
import { queryBoolean, queryInteger, searchText } from '../../../platform/validation/query-params.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'
import {
  describeKey,
  hashParam,
  keyNotFoundError,
  loadKeyLimits,
  loadUsage,
  requireChangeableKey,
  requireKey,
  resolveAllowedRegions,
} from './find.ts'
import { importApiKeys } from './import.ts'
import { priorityBody, resolveNewPriority, resolvePriority } from './priority.ts'
import {
  currentKey,
  keyRecord,
  limitReset,
  toKeyLimits,
  toKeyRecord,
  toLimitFields,
  toPriorityFields,
  toUsageFields,
} from './record.ts'
import { rotateApiKey } from './rotate.ts'
import { isWorkspaceDeleted, listKeys, type VisibleKeys } from './store.ts'

const tag = 'API Keys'
const name = nameField(200)

/** A secret chosen by a partner must not be guessable. */
const partnerSecret = z
  .string()
  .min(32)
  .max(512)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without spaces')
  .refine((secret) => new Set(secret).size >= 10, 'must have at least 10 different characters')

const tierName = lineField(64).describe(
  'An extension: the tier whose limits apply to the key. A new key without one has the default tier; null: none.',
)

const createBody = z.strictObject({
  name,
  limit: usdAmount.nullish(),
  limit_reset: limitReset.nullish(),
  include_byok_in_limit: z.boolean().optional(),
  tags: tagRulesBody.nullish().describe('Rules about the tags of its requests; null removes them.'),
  expires_at: utcTimestamp.nullish(),
  workspace_id: z.uuid().optional(),
  creator_user_id: z.string().min(1).nullish(),
  tier: tierName.nullish(),
  ...priorityBody,
  external: z.strictObject({ user: lineField(256), api_key: partnerSecret.optional() }).optional(),
})

const updateBody = z.strictObject({
  name: name.optional(),
  disabled: z.boolean().optional(),
  limit: usdAmount.nullish(),
  limit_reset: limitReset.nullish(),
  include_byok_in_limit: z.boolean().optional(),
  tier: tierName.nullish(),
  ...priorityBody,
  tags: tagRulesBody.nullish().describe('Rules about the tags of its requests; null removes them.'),
})

const getCurrentKey = defineOperation({
  id: 'getCurrentKey',
  method: 'GET',
  path: '/key',
  aliases: ['/auth/key'],
  tag,
  summary: 'Retrieves the limits and usage of the calling key.',
  permission: 'identity:read',
  response: z.strictObject({ data: currentKey }),
  handle: async ({ gateway, caller }) => {
    const usage = await loadUsage(gateway, caller.key)
    const { purchased } = await loadCreditTotals(gateway.db, caller.organizationId)
    const owner = await loadOwnerAccount(gateway.db, caller.organizationId)
    const freeLimit = resolveFreeRequestsPerDay(owner.purchased)
    const used = await countFreeRequestsToday(gateway.db, owner.subject, gateway.clock.now())
    return {
      data: {
        label: caller.key.label,
        ...toLimitFields(caller.key, usage),
        ...toUsageFields(usage),
        is_free_tier: purchased <= 0n,
        is_management_key: caller.key.kind === 'management',
        is_provisioning_key: caller.key.kind === 'management',
        creator_user_id: caller.key.creator_user_id,
        expires_at: caller.key.expires_at,
        organization_id: caller.organizationId,
        workspace_id: (await isWorkspaceDeleted(gateway.db, caller.key.workspace_id))
          ? null
          : caller.key.workspace_id,
        ...toPriorityFields(caller.key),
        limits: toKeyLimits(await loadKeyLimits(gateway, caller.key)),
        allowed_data_regions: await resolveAllowedRegions(gateway, caller.key),
        free_model_daily_requests: { limit: freeLimit, remaining: Math.max(0, freeLimit - used), used },
        rate_limit: { interval: '10s', note: 'Deprecated; ignore it.', requests: -1 },
      },
    }
  },
})

const listApiKeys = defineOperation({
  id: 'listKeys',
  method: 'GET',
  path: '/keys',
  tag,
  summary: 'Lists the API keys of a workspace, newest first, 100 per page.',
  description: 'A member without further permissions sees the keys they created.',
  permission: 'keys:read',
  query: z.object({
    include_disabled: queryBoolean().optional(),
    offset: queryInteger({ min: 0, fallback: 0 }),
    q: searchText.optional().describe('An extension: those with this text in their name or label.'),
    workspace_id: z.uuid().optional().describe('Defaults to the default workspace.'),
    creator_user_id: lineField(256).optional().describe('An extension: those that this member created.'),
  }),
  response: z.strictObject({ data: z.array(keyRecord) }),
  handle: async (context) => {
    const { gateway, caller, query } = context
    const keys = await listKeys(gateway.db, {
      organizationId: caller.organizationId,
      visible: await resolveVisibleKeys(context),
      includeDisabled: query.include_disabled ?? false,
      creatorUserId: query.creator_user_id,
      offset: query.offset,
      text: query.q,
    })
    const usage = await loadKeyUsage(
      gateway.db,
      keys.map((key) => key.id),
      gateway.clock.now(),
    )
    return { data: keys.map((key) => toKeyRecord(key, usage.get(key.id) ?? zeroUsage)) }
  },
})

async function resolveVisibleKeys(
  context: ScopedRequest & { gateway: Gateway; query: { workspace_id?: string | undefined } },
): Promise<VisibleKeys> {
  const { gateway, caller, scope, query } = context
  if (query.workspace_id === undefined && coversAllWorkspaces(context)) return { workspaceId: null, scope }
  const { id } = await resolveWorkspace(gateway.db, caller.organizationId, query.workspace_id)
  return { workspaceId: id, creatorUserId: resolveVisibleOwner(scope, id) }
}

const createApiKey = defineOperation({
  id: 'createKey',
  method: 'POST',
  path: '/keys',
  tag,
  summary: 'Creates an API key. The secret is shown only in this response.',
  description:
    'A member who may manage only the keys they created is limited by the setting `oauth.member_key_limit`: it is the highest and the default limit, and it cannot reset.',
  permission: 'keys:write',
  body: createBody,
  status: 201,
  errors: [409],
  response: z.strictObject({ data: keyRecord, key: z.string() }),
  handle: async (request) => {
    const { gateway, caller, scope, body } = request
    rejectPastExpiry(gateway, body.expires_at)
    const workspace = await resolveWorkspace(gateway.db, caller.organizationId, body.workspace_id)
    const creatorUserId = await resolveCreator(gateway, caller, body.creator_user_id)
    assertWithinScope(scope, { workspaceId: workspace.id, ownerId: creatorUserId })
    const input: NewKey = {
      organizationId: caller.organizationId,
      workspaceId: workspace.id,
      kind: 'inference',
      name: body.name,
      creatorUserId,
      limit: resolveLimit(request, workspace.id, body),
      limitReset: body.limit_reset ?? null,
      includeByokInLimit: body.include_byok_in_limit ?? false,
      expiresAt: body.expires_at ?? null,
      tagRules: encodeTagRules(body.tags ?? null),
      ...resolveNewPriority(scope, workspace.id, body),
      externalUser: body.external?.user ?? null,
      externalSecret: body.external?.api_key ?? null,
      tier:
        body.tier === undefined
          ? await findDefaultTier(gateway.db, caller.organizationId)
          : await requireTier(gateway.db, caller.organizationId, body.tier, 'tier'),
    }
    const { key, secret } = await transact(request, async (tx, record) => {
      const created = await createKey(tx, gateway.clock, input)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'keys', caller.organizationId)
      record({ action: 'key.create', ...describeKey(created.key), after: created.key })
      return created
    })
    return { data: toKeyRecord(key, zeroUsage), key: secret }
  },
})

const getKey = defineOperation({
  id: 'getKey',
  method: 'GET',
  path: '/keys/{hash}',
  tag,
  summary: 'Retrieves an API key.',
  permission: 'keys:read',
  params: hashParam,
  errors: [404],
  response: z.strictObject({ data: keyRecord }),
  handle: async ({ gateway, caller, scope, params }) => {
    const key = await requireKey(gateway.db, caller, scope, params.hash)
    return { data: toKeyRecord(key, await loadUsage(gateway, key)) }
  },
})

const updateApiKey = defineOperation({
  id: 'updateKey',
  method: 'PATCH',
  path: '/keys/{hash}',
  tag,
  summary: 'Updates an API key. Fields that are not sent stay unchanged.',
  permission: 'keys:write',
  params: hashParam,
  body: updateBody,
  errors: [404, 409],
  response: z.strictObject({ data: keyRecord }),
  handle: async (request) => {
    const { gateway, caller, scope, params, body } = request
    const changes = {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.disabled !== undefined && { disabled: toFlag(body.disabled) }),
      ...(body.limit !== undefined && { limit_nanos: body.limit }),
      ...(body.tags !== undefined && { tag_rules: encodeTagRules(body.tags) }),
      ...(body.limit_reset !== undefined && { limit_reset: body.limit_reset }),
      ...(body.include_byok_in_limit !== undefined && {
        include_byok_in_limit: toFlag(body.include_byok_in_limit),
      }),
      ...(body.tier !== undefined && {
        tier: await requireTier(gateway.db, caller.organizationId, body.tier, 'tier'),
      }),
    }
    const changed = await transact(request, async (tx, record) => {
      const found = await requireChangeableKey(tx, caller, scope, params.hash)
      if (body.disabled === false) await lockKeyOwners(tx, found)
      const before = await lockKey(tx, caller.organizationId, params.hash)
      if (!before) throw keyNotFoundError()
      validateLimitChange(request, before, changes)
      const priorities = resolvePriority(scope, before.workspace_id, body, before)
      const after = await updateKey(tx, gateway.clock, before.id, { ...changes, ...priorities })
      record({ action: 'key.update', ...describeKey(after), before, after })
      return after
    })
    return { data: toKeyRecord(changed, await loadUsage(gateway, changed)) }
  },
})

const deleteApiKey = defineOperation({
  id: 'deleteKey',
  method: 'DELETE',
  path: '/keys/{hash}',
  tag,
  summary: 'Deletes an API key permanently.',
  permission: 'keys:write',
  params: hashParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, scope, params } = request
      const key = await requireChangeableKey(tx, caller, scope, params.hash)
      if (!(await deleteKey(tx, gateway.clock, key))) throw keyNotFoundError()
      record({ action: 'key.delete', ...describeKey(key), before: key })
      return { deleted: true as const }
    }),
})

export const keyOperations = [
  getCurrentKey,
  listApiKeys,
  createApiKey,
  importApiKeys,
  getKey,
  updateApiKey,
  rotateApiKey,
  deleteApiKey,
]

interface LimitedRequest {
  gateway: Gateway
  scope: Scope
}

function resolveLimit(
  { gateway, scope }: LimitedRequest,
  workspaceId: string,
  { limit, limit_reset }: Pick<z.output<typeof createBody>, 'limit' | 'limit_reset'>,
): bigint | null {
  const max = resolveMaxKeyLimit(gateway.settings, scope, workspaceId)
  return resolveKeyLimit(max, { limit, reset: limit_reset, resetField: 'limit_reset' })
}

/** Other changes are allowed whatever the limit of the key is. */
function validateLimitChange(request: LimitedRequest, before: ApiKey, changes: KeyChanges): void {
  if (changes.limit_nanos === undefined && changes.limit_reset === undefined) return
  const { limit_nanos: limit, limit_reset } = { ...before, ...changes }
  resolveLimit(request, before.workspace_id, { limit, limit_reset })
}

function rejectPastExpiry(gateway: Gateway, expiresAt: string | null | undefined): void {
  if (expiresAt && Date.parse(expiresAt) <= gateway.clock.now())
    throw invalidFieldError('expires_at', 'is in the past')
}

async function resolveCreator(
  gateway: Gateway,
  caller: Caller,
  requestedId: string | null | undefined,
): Promise<string | null> {
  if (requestedId === undefined || requestedId === null) return caller.userId
  if (await findMember(gateway.db, caller.organizationId, requestedId)) return requestedId
  throw invalidFieldError('creator_user_id', 'is not a member of the organization')
}
