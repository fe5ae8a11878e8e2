import { z } from 'zod'
import { resolveOrigin, transact } from '../../../access/transact.ts'
import {
  type ErasureProgress,
  erasedKinds,
  notReached,
  parseCounts,
} from '../../../gateway/erasure/erasure.ts'
import {
  type Erasure,
  findErasure,
  insertErasure,
  listErasures,
} from '../../../gateway/erasure/erasure-store.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { lineField } from '../../../platform/validation/name-schema.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'

export const tag = 'End users'
export const endUserParam = z.object({ id: lineField(256) })

/** Whatever a request can name: clients also send names with line breaks. */
const erasedUserParam = z.object({
  id: z
    .string()
    .min(1)
    .max(256)
    .refine((name) => !name.includes('\0'), 'must not contain a NUL'),
})

const counts = z.object(
  Object.fromEntries([...erasedKinds, 'cached_replies' as const].map((kind) => [kind, z.int()])) as Record<
    (typeof erasedKinds)[number] | 'cached_replies',
    z.ZodInt
  >,
)

const erasureRecord = z
  .strictObject({
    id: z.string(),
    end_user_sha256: z.string().describe('SHA-256 of the name that clients send, in hexadecimal.'),
    pseudonym: z.string().describe('Stands for the name in the records that are kept.'),
    requested_at: z.string(),
    requested_by: z.strictObject({
      type: z.string(),
      id: z.string().nullable(),
      name: z.string().nullable(),
    }),
    status: z.enum(['pending', 'running', 'completed']),
    completed_at: z.string().nullable(),
    counts: counts.describe(
      'Records that were deleted; `requests` were kept under the pseudonym, with what they cost.',
    ),
    not_reached: z
      .array(z.strictObject({ kind: z.string(), note: z.string() }))
      .describe('What an erasure does not delete.'),
  })
  .meta({ id: 'Erasure' })

const erasureResponse = z.strictObject({ data: erasureRecord })

const eraseEndUser = defineOperation({
  id: 'eraseEndUserData',
  method: 'DELETE',
  path: '/end-users/{id}/data',
  tag,
  summary: 'Deletes what is stored of an end user.',
  description:
    'Deletes what their requests until now contained, and replaces their name in the records of these requests by a pseudonym. What the requests cost stays on record. The response is a receipt; the deletion runs in the background. Later requests are recorded as before: block the end user to reject them.',
  permission: 'privacy:write',
  scope: 'organization',
  params: erasedUserParam,
  status: 202,
  errors: [409],
  response: erasureResponse,
  handle: async (request) => {
    const { gateway, caller, params } = request
    const { organizationId } = caller
    const { actor } = await resolveOrigin(request)
    const erasure = await transact(request, async (tx, record) => {
      await lockOrganization(tx, organizationId)
      const row = await insertErasure(tx, gateway, { organizationId, name: params.id, requestedBy: actor })
      const target = { type: 'end_user', id: row.end_user_hash }
      record({ action: 'end_user.erase', target, details: { erasure: row.id } })
      return row
    })
    return { data: toRecord(erasure) }
  },
})

const listOperation = defineOperation({
  id: 'listErasures',
  method: 'GET',
  path: '/end-user-erasures',
  tag,
  summary: 'Lists the receipts of deleted end users, the oldest first.',
  permission: 'privacy:read',
  scope: 'organization',
  query: pageQuery.extend({
    end_user_sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hexadecimal')
      .optional()
      .describe('Only those of this end user.'),
  }),
  response: z.strictObject({ data: z.array(erasureRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const owner = { organizationId: caller.organizationId, hash: query.end_user_sha256 }
    const { rows, total } = await listErasures(gateway.db, owner, query)
    return { data: rows.map(toRecord), total_count: total }
  },
})

const getOperation = defineOperation({
  id: 'getErasure',
  method: 'GET',
  path: '/end-user-erasures/{id}',
  tag,
  summary: 'Retrieves the receipt of a deleted end user.',
  permission: 'privacy:read',
  scope: 'organization',
  params: z.object({ id: z.string().min(1).max(100) }),
  errors: [404],
  response: erasureResponse,
  handle: async ({ gateway, caller, params }) => {
    const row = await findErasure(gateway.db, caller.organizationId, params.id)
    if (!row) throw gatewayError('not_found', 'There is no such erasure.')
    return { data: toRecord(row) }
  },
})

export const erasureOperations = [eraseEndUser, listOperation, getOperation]

function toRecord(row: Erasure): z.input<typeof erasureRecord> {
  const { passes, step, after } = JSON.parse(row.progress) as ErasureProgress
  const isPending = passes === 0 && step === 'records' && after === null
  return {
    id: row.id,
    end_user_sha256: row.end_user_hash,
    pseudonym: row.pseudonym,
    requested_at: row.requested_at,
    requested_by: JSON.parse(row.requested_by) as z.input<typeof erasureRecord>['requested_by'],
    status: row.completed_at !== null ? 'completed' : isPending ? 'pending' : 'running',
    completed_at: row.completed_at,
    counts: { ...parseCounts(row.counts), cached_replies: row.cached_replies },
    not_reached: [...notReached],
  }
}
