import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import type { TierRow } from '../../../governance/limits/store.ts'
import {
  clearDefaultTier,
  deleteTier,
  findTier,
  insertTier,
  listTiers,
  updateTier,
} from '../../../governance/limits/tier-store.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import type { Db } from '../../../platform/db/db.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { textLine } from '../../../platform/validation/name-schema.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'

const tag = 'Limits'

const tierName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be lower-case letters, digits, - and _, at most 64')
const nameParam = z.object({ name: z.string().min(1).max(64) })

const tierFields = {
  name: tierName,
  description: textLine(500).nullable(),
  is_default: z.boolean().describe('Whether new keys that name no tier have this one.'),
}

const tierRecord = z
  .strictObject({ ...tierFields, created_at: z.string(), updated_at: z.string() })
  .meta({ id: 'LimitTier' })
const tierResponse = z.strictObject({ data: tierRecord })

const listTiersOperation = defineOperation({
  id: 'listTiers',
  method: 'GET',
  path: '/tiers',
  tag,
  summary: 'Lists the tiers by name.',
  description: 'A tier is a set of limits that any number of keys refer to.',
  permission: 'budgets:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(tierRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listTiers(gateway.db, caller.organizationId, query)
    return { data: rows.map(toRecord), total_count: total }
  },
})

const createTier = defineOperation({
  id: 'createTier',
  method: 'POST',
  path: '/tiers',
  tag,
  summary: 'Creates a tier.',
  description:
    'Give it limits with `POST /limits` and `match.tier`, with `per: ["key"]` if each key has them for itself. Give it to keys with their field `tier`.',
  permission: 'budgets:write',
  scope: 'organization',
  body: z.strictObject({
    name: tierFields.name,
    description: tierFields.description.optional(),
    is_default: tierFields.is_default.default(false),
  }),
  status: 201,
  errors: [409],
  response: tierResponse,
  handle: async ({ gateway, caller, body, httpRequest }) => {
    const { organizationId } = caller
    const row = await transact({ gateway, caller, httpRequest }, async (tx, record) => {
      await lockOrganization(tx, organizationId)
      if (await findTier(tx, organizationId, body.name))
        throw gatewayError('conflict', `name: a tier "${body.name}" exists already.`)
      if (body.is_default) await clearDefaultTier(tx, organizationId)
      const created = await insertTier(tx, gateway.clock, {
        organization_id: organizationId,
        name: body.name,
        description: body.description ?? null,
        is_default: toFlag(body.is_default),
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'limit_tiers', organizationId)
      record({ action: 'tier.create', ...describeTier(created), after: { ...created } })
      return created
    })
    return { data: toRecord(row) }
  },
})

const updateTierOperation = defineOperation({
  id: 'updateTier',
  method: 'PATCH',
  path: '/tiers/{name}',
  tag,
  summary: 'Updates a tier. Fields that are not sent stay unchanged.',
  permission: 'budgets:write',
  scope: 'organization',
  params: nameParam,
  body: z.strictObject({
    description: tierFields.description.optional(),
    is_default: tierFields.is_default.optional(),
  }),
  errors: [404],
  response: tierResponse,
  handle: async ({ gateway, caller, params, body, httpRequest }) => {
    const row = await transact({ gateway, caller, httpRequest }, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireTierRow(tx, caller.organizationId, params.name)
      if (body.is_default) await clearDefaultTier(tx, caller.organizationId)
      const after = await updateTier(tx, gateway.clock, before, {
        ...(body.description !== undefined && { description: body.description }),
        ...(body.is_default !== undefined && { is_default: toFlag(body.is_default) }),
      })
      record({ action: 'tier.update', ...describeTier(after), before: { ...before }, after: { ...after } })
      return after
    })
    return { data: toRecord(row) }
  },
})

const deleteTierOperation = defineOperation({
  id: 'deleteTier',
  method: 'DELETE',
  path: '/tiers/{name}',
  tag,
  summary: 'Deletes a tier with its limits. Its keys have no tier afterwards.',
  permission: 'budgets:write',
  scope: 'organization',
  params: nameParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: ({ gateway, caller, params, httpRequest }) => {
    return transact({ gateway, caller, httpRequest }, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const row = await requireTierRow(tx, caller.organizationId, params.name)
      await deleteTier(tx, row)
      record({ action: 'tier.delete', ...describeTier(row), before: { ...row } })
      return { deleted: true as const }
    })
  },
})

export const tierOperations = [listTiersOperation, createTier, updateTierOperation, deleteTierOperation]

async function requireTierRow(tx: Db, organizationId: string, name: string): Promise<TierRow> {
  const row = await findTier(tx, organizationId, name)
  if (!row) throw gatewayError('not_found', 'The tier does not exist.')
  return row
}

function toRecord({ name, description, is_default, created_at, updated_at }: TierRow) {
  return { name, description, is_default: is_default === 1, created_at, updated_at }
}

function describeTier({ name }: TierRow) {
  return { target: { type: 'tier' as const, id: name, name }, workspaceId: null }
}
