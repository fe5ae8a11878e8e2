import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { requireWorkspace } from '../../../identity/workspaces.ts'
import { encryptTimeCursor, openTimeCursor } from '../../../platform/crypto/encrypted-cursor.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { queryBoolean, queryInteger } from '../../../platform/validation/query-params.ts'
import type { ComparedSide, Comparison } from '../../../storage/shadows/comparison.ts'
import { listComparisonRows } from '../../../storage/shadows/comparison-store.ts'
import { listShadowRows } from '../../../storage/shadows/shadow.ts'
import { createShadowRow, deleteShadowRow, updateShadowRow } from './changes.ts'
import { postExchanges } from './exchanges.ts'
import {
  comparisonRecord,
  createShadowBody,
  shadowRecord,
  toShadowRecord,
  updateShadowBody,
} from './record.ts'
import { buildReport, shadowReport } from './report.ts'
import { shadowRecords } from './store.ts'

const tag = 'Shadows'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const shadowResponse = z.strictObject({ data: shadowRecord })
const days = queryInteger({ min: 1, max: 30, fallback: 7 })

const listShadows = defineOperation({
  id: 'listShadows',
  method: 'GET',
  path: '/shadows',
  tag,
  summary: 'Lists the shadows of the organization, the oldest first.',
  permission: 'shadows:read',
  response: z.strictObject({ data: z.array(shadowRecord) }),
  handle: async ({ gateway, caller }) => ({
    data: (await listShadowRows(gateway.db, caller.organizationId)).map(toShadowRecord),
  }),
})

const createShadow = defineOperation({
  id: 'createShadow',
  method: 'POST',
  path: '/shadows',
  tag,
  summary: 'Creates a shadow, which sends a share of the requests a second time and compares the replies.',
  description:
    'A mirror is sent after the client has its reply. Its cost counts for a key of its own in the workspace `shadow-mode`, and for no other key, workspace or member.',
  permission: 'shadows:write',
  body: createShadowBody,
  status: 201,
  errors: [404, 409],
  response: shadowResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    if (body.workspace_id) await requireWorkspace(gateway.db, caller.organizationId, body.workspace_id)
    const row = await transact(context, (tx, record) =>
      createShadowRow({ gateway, tx, record }, caller.organizationId, body),
    )
    return { data: toShadowRecord(row) }
  },
})

const getShadow = defineOperation({
  id: 'getShadow',
  method: 'GET',
  path: '/shadows/{id}',
  tag,
  summary: 'Retrieves a shadow.',
  permission: 'shadows:read',
  params: idParam,
  errors: [404],
  response: shadowResponse,
  handle: async (context) => ({
    data: toShadowRecord(await shadowRecords.require(context.gateway.db, context)),
  }),
})

const updateShadow = defineOperation({
  id: 'updateShadow',
  method: 'PATCH',
  path: '/shadows/{id}',
  tag,
  summary: 'Changes a shadow. Fields that are not sent stay.',
  permission: 'shadows:write',
  params: idParam,
  body: updateShadowBody,
  errors: [404],
  response: shadowResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    const changed = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      return updateShadowRow({ gateway, tx, record }, await shadowRecords.lock(tx, context), body)
    })
    return { data: toShadowRecord(changed) }
  },
})

const removeShadow = defineOperation({
  id: 'deleteShadow',
  method: 'DELETE',
  path: '/shadows/{id}',
  tag,
  summary: 'Deletes a shadow and its comparisons.',
  description: 'The records of its mirrors, and what they cost, stay in the workspace `shadow-mode`.',
  permission: 'shadows:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: async (context) => {
    const { gateway, caller } = context
    await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      await deleteShadowRow({ gateway, tx, record }, await shadowRecords.lock(tx, context))
    })
    return { deleted: true as const }
  },
})

const getShadowReport = defineOperation({
  id: 'getShadowReport',
  method: 'GET',
  path: '/shadows/{id}/report',
  tag,
  summary: 'Reports how the replies of the mirrors differ, and what they cost.',
  permission: 'shadows:read',
  params: idParam,
  query: z.strictObject({ days }),
  errors: [404],
  response: z.strictObject({ data: shadowReport }),
  handle: async (context) => {
    const { gateway, query } = context
    const row = await shadowRecords.require(gateway.db, context)
    return { data: await buildReport(gateway, row, query.days) }
  },
})

const listShadowComparisons = defineOperation({
  id: 'listShadowComparisons',
  method: 'GET',
  path: '/shadows/{id}/comparisons',
  tag,
  summary: 'Lists the requests that were compared, newest first.',
  description:
    'Contents are not part of a comparison: they are in the generations of both sides, where the workspace of the original stores contents.',
  permission: 'shadows:read',
  params: idParam,
  query: z.strictObject({
    differing: queryBoolean().optional().describe('Only those with a difference.'),
    days,
    limit: queryInteger({ min: 1, max: 200, fallback: 50 }),
    cursor: z.string().min(1).max(1024).optional().describe('The cursor from the previous page.'),
  }),
  errors: [404],
  response: z.strictObject({
    data: z.array(comparisonRecord),
    cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
  }),
  handle: async (context) => {
    const { gateway, query } = context
    const { db, vault, clock } = gateway
    const { id: shadowId } = await shadowRecords.require(db, context)
    const cursorContext = `shadow ${shadowId}`
    const rows = await listComparisonRows(db, {
      shadowId,
      from: new Date(clock.now() - query.days * 86_400_000).toISOString(),
      differing: query.differing === true,
      before: openTimeCursor(vault, cursorContext, query.cursor),
      limit: query.limit + 1,
    })
    const page = rows.slice(0, query.limit)
    const last = rows.length > query.limit ? page.at(-1) : undefined
    return {
      data: page.map(({ id, created_at, record }) => toComparisonRecord(id, created_at, record)),
      cursor: last ? encryptTimeCursor(vault, cursorContext, last) : null,
    }
  },
})

function toComparisonRecord(
  id: string,
  created_at: string,
  record: string,
): z.output<typeof comparisonRecord> {
  const { original, mirror, differences, ...rest } = JSON.parse(record) as Comparison
  return {
    ...{ id, created_at, original: toSideRecord(original), mirror: toSideRecord(mirror) },
    differences: [...differences],
    ...rest,
  }
}

function toSideRecord({ cost_nanos, ...side }: ComparedSide) {
  return { ...side, cost_usd: cost_nanos === null ? null : usdFromNanos(BigInt(cost_nanos)) }
}

export const shadowOperations = [
  listShadows,
  createShadow,
  getShadow,
  updateShadow,
  removeShadow,
  getShadowReport,
  listShadowComparisons,
  postExchanges,
]
