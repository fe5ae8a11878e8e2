import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import {
  type AttachedLimit,
  findAttachedLimit,
  type LimitSource,
  limitSources,
  listAllLimits,
} from '../../../governance/limits/attached-limit-store.ts'
import { describeLimit } from '../../../governance/limits/audit-target.ts'
import { findLimit, type LimitRow, updateLimit } from '../../../governance/limits/store.ts'
import { requireTier } from '../../../governance/limits/tier-store.ts'
import { defineOperation } from '../../../http/operation.ts'
import { findKey } from '../../../identity/keys.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import {
  isAttached,
  loadAnyLimitUsage,
  parseAttachedId,
  toAnyLimitRecord,
  toAttachedRecord,
} from './attached.ts'
import { deleteAttachedLimit, limitNotFoundError, updateAttachedLimit } from './attached-changes.ts'
import {
  assertNotFromSettings,
  createLimitRow,
  deleteLimitRow,
  prepareLimit,
  requireAmount,
} from './changes.ts'
import { createLimitBody, limitRecord, updateLimitBody } from './record.ts'
import { toLimitRecord } from './store.ts'
import { limitUsage } from './usage.ts'

const tag = 'Limits'
const limitId = /^[0-9a-fA-F-]{36}$|^(?:key|member|workspace|guardrail):[\w:.-]{1,200}$/
const idParam = z.object({
  id: z
    .string()
    .regex(limitId, 'must be the id of a limit')
    .describe(
      'The id of a declared limit, or `key:<hash>`, `member:<id>`, `workspace:<id>:<interval>` or `guardrail:<id>`.',
    ),
})
const limitResponse = z.strictObject({ data: limitRecord })

const limitFilter = {
  key_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the hash of a key')
    .optional()
    .describe('Limits of this key.'),
  tier: z.string().min(1).max(64).optional().describe('Limits of this tier.'),
  source: z
    .enum(limitSources)
    .optional()
    .describe('Declared limits only (`limit`), or those of one kind of record.'),
}

interface FilterQuery {
  key_hash?: string | undefined
  tier?: string | undefined
  source?: LimitSource | undefined
}

const listLimits = defineOperation({
  id: 'listLimits',
  method: 'GET',
  path: '/limits',
  tag,
  summary:
    'Lists all limits, oldest first: declared ones, and those of keys, members, workspaces and guardrails.',
  permission: 'budgets:read',
  query: pageQuery.extend(limitFilter),
  response: z.strictObject({ data: z.array(limitRecord), total_count: z.int() }),
  handle: async (request) => {
    const { gateway } = request
    const { limits, total } = await findLimits(request)
    return {
      data: await Promise.all(limits.map((limit) => toAnyLimitRecord(gateway.db, limit))),
      total_count: total,
    }
  },
})

const listLimitUsage = defineOperation({
  id: 'listLimitUsage',
  method: 'GET',
  path: '/limits/usage',
  tag,
  summary: 'Lists what the limits have counted in their present windows, and what is left.',
  description:
    'A limit that counts separately (`per`) has an entry for each of the up to 100 counts that are closest to it.',
  permission: 'budgets:read',
  query: pageQuery.extend(limitFilter),
  response: z.strictObject({ data: z.array(limitUsage), total_count: z.int() }),
  handle: async (request) => {
    const { gateway, caller } = request
    const { limits, total } = await findLimits(request)
    const usage = await Promise.all(
      limits.map((limit) => loadAnyLimitUsage(gateway, caller.organizationId, limit)),
    )
    return { data: usage, total_count: total }
  },
})

interface ListRequest {
  gateway: Gateway
  caller: { organizationId: string }
  scope: Scope
  query: FilterQuery & { offset: number; limit: number }
}

async function findLimits({ gateway, caller, scope, query }: ListRequest) {
  const { organizationId } = caller
  const key = query.key_hash ? await findKey(gateway.db, organizationId, query.key_hash) : undefined
  if (query.key_hash && !key) throw invalidFieldError('key_hash', 'is not a key of the organization')
  const tier = await requireTier(gateway.db, organizationId, query.tier ?? null, 'tier')
  const workspaceIds = scope.everywhere ? null : [...scope.workspaceIds]
  const filter = { organizationId, workspaceIds, source: query.source ?? null, keyId: key?.id ?? null, tier }
  return listAllLimits(gateway.db, filter, query)
}

const createLimit = defineOperation({
  id: 'createLimit',
  method: 'POST',
  path: '/limits',
  tag,
  summary: 'Creates a limit on spending, requests, tokens or concurrent requests.',
  description:
    'It applies to requests that match all of `match`, at the latest two seconds later on every node. A request that exceeds it gets 402 for dollars and 429 otherwise, with `Retry-After`.',
  permission: 'budgets:write',
  body: createLimitBody,
  status: 201,
  errors: [404, 409],
  response: limitResponse,
  handle: async ({ gateway, caller, scope, body, httpRequest }) => {
    const { organizationId } = caller
    const prepared = await prepareLimit(gateway.db, organizationId, body)
    assertWithinScope(scope, { workspaceId: prepared.workspace_id })
    const row = await transact({ gateway, caller, httpRequest }, (tx, record) =>
      createLimitRow({ gateway, tx, record }, prepared),
    )
    return { data: await toLimitRecord(gateway.db, row) }
  },
})

const getLimit = defineOperation({
  id: 'getLimit',
  method: 'GET',
  path: '/limits/{id}',
  tag,
  summary: 'Retrieves a limit.',
  permission: 'budgets:read',
  params: idParam,
  errors: [404],
  response: limitResponse,
  handle: async ({ gateway, caller, scope, params }) => {
    const attached = parseAttachedId(params.id)
    const limit = attached
      ? await findAttachedLimit(gateway.db, caller.organizationId, attached)
      : await findLimit(gateway.db, caller.organizationId, params.id.toLowerCase())
    return { data: await toAnyLimitRecord(gateway.db, requireReachable(limit, scope)) }
  },
})

const updateLimitOperation = defineOperation({
  id: 'updateLimit',
  method: 'PATCH',
  path: '/limits/{id}',
  tag,
  summary: 'Updates a limit. Fields that are not sent stay unchanged.',
  description:
    'What it counts is fixed: create another limit instead. The limit of a key, member or guardrail also requires the permission to change these.',
  permission: 'budgets:write',
  params: idParam,
  body: updateLimitBody,
  errors: [404, 409],
  response: limitResponse,
  handle: async ({ gateway, caller, scope, params, body, httpRequest }) => {
    const attached = parseAttachedId(params.id)
    if (attached)
      return transact({ gateway, caller, httpRequest }, async (tx, record) => ({
        data: toAttachedRecord(await updateAttachedLimit({ gateway, caller, tx, record }, attached, body)),
      }))
    const row = await transact({ gateway, caller, httpRequest }, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = requireReachable(
        await findLimit(tx, caller.organizationId, params.id.toLowerCase()),
        scope,
      )
      assertNotFromSettings(before, 'limit')
      const measure = createLimitBody.shape.measure.parse(before.measure)
      const after = await updateLimit(tx, gateway.clock, before.id, {
        ...(body.name !== undefined && { name: body.name }),
        ...(body.amount !== undefined && { amount: requireAmount(measure, body.amount) }),
        ...(body.include_byok !== undefined && { include_byok: toFlag(body.include_byok) }),
        ...(body.enabled !== undefined && { enabled: toFlag(body.enabled) }),
      })
      record({
        action: 'limit.update',
        ...describeLimit(after),
        before: { ...before },
        after: { ...after },
      })
      return after
    })
    return { data: await toLimitRecord(gateway.db, row) }
  },
})

const deleteLimitOperation = defineOperation({
  id: 'deleteLimit',
  method: 'DELETE',
  path: '/limits/{id}',
  tag,
  summary: 'Deletes a limit. The record that it belongs to remains.',
  permission: 'budgets:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: ({ gateway, caller, scope, params, httpRequest }) =>
    transact({ gateway, caller, httpRequest }, async (tx, record) => {
      const attached = parseAttachedId(params.id)
      if (attached) {
        await deleteAttachedLimit({ gateway, caller, tx, record }, attached)
        return { deleted: true as const }
      }
      const row = requireReachable(await findLimit(tx, caller.organizationId, params.id.toLowerCase()), scope)
      await deleteLimitRow({ tx, record }, row)
      return { deleted: true as const }
    }),
})

export const limitOperations = [
  listLimits,
  listLimitUsage,
  createLimit,
  getLimit,
  updateLimitOperation,
  deleteLimitOperation,
]

function requireReachable<L extends LimitRow | AttachedLimit>(limit: L | undefined, scope: Scope): L {
  if (!limit) throw limitNotFoundError()
  assertWithinScope(scope, { workspaceId: isAttached(limit) ? limit.workspaceId : limit.workspace_id })
  return limit
}
