import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { describeTier } from '../../../governance/limits/audit-target.ts'
import { tierFields } from '../../../governance/limits/limit-settings.ts'
import { clearDefaultTier, listTiers, updateTier } from '../../../governance/limits/tier-store.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { assertNotFromSettings } from './changes.ts'
import { createTierRow, deleteTierRow, requireTierRow } from './tier-changes.ts'
import { createTierBody, tierRecord, toTierRecord } from './tier-record.ts'

const tag = 'Limits'

const nameParam = z.object({ name: z.string().min(1).max(64) })

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
    return { data: rows.map(toTierRecord), total_count: total }
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
  body: createTierBody,
  status: 201,
  errors: [409],
  response: tierResponse,
  handle: async ({ gateway, caller, body, httpRequest }) => {
    const { organizationId } = caller
    const row = await transact({ gateway, caller, httpRequest }, (tx, record) =>
      createTierRow({ gateway, tx, record }, organizationId, body),
    )
    return { data: toTierRecord(row) }
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
  errors: [404, 409],
  response: tierResponse,
  handle: async ({ gateway, caller, params, body, httpRequest }) => {
    const row = await transact({ gateway, caller, httpRequest }, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireTierRow(tx, caller.organizationId, params.name)
      assertNotFromSettings(before, 'tier')
      if (body.is_default) await clearDefaultTier(tx, caller.organizationId)
      const after = await updateTier(tx, gateway.clock, before, {
        ...(body.description !== undefined && { description: body.description }),
        ...(body.is_default !== undefined && { is_default: toFlag(body.is_default) }),
      })
      record({ action: 'tier.update', ...describeTier(after), before: { ...before }, after: { ...after } })
      return after
    })
    return { data: toTierRecord(row) }
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
      await deleteTierRow({ tx, record }, caller.organizationId, params.name)
      return { deleted: true as const }
    })
  },
})

export const tierOperations = [listTiersOperation, createTier, updateTierOperation, deleteTierOperation]
