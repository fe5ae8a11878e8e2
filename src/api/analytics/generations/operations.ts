import { z } from 'zod'
import { mayOperate } from '../../../access/authorize.ts'
import { type Caller, isInferenceKey } from '../../../access/caller.ts'
import { assertVisible } from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { findPlan } from '../../../analytics/request-log/plans.ts'
import { findRefused, type RefusedRow } from '../../../analytics/request-log/walk.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { listHitsOf } from '../../../governance/guardrail-hits.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import type { Scope } from '../../../identity/permissions/grant.ts'
import type { RecordedPlan } from '../../../inference/plan/recorded-plan.ts'
import { findParentId, listLines } from '../../../ledger/bill-lines.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { generationContent } from './content.ts'
import { explainGeneration, explainRefusal, explanationRecord } from './explanation.ts'
import { logOperations } from './log-operations.ts'
import { findNearestLimit } from './nearest-limit.ts'
import { type GenerationRow, generationRecord, toGenerationRecord } from './record.ts'
import { findAppId, findContent, findGeneration, insertFeedback } from './store.ts'

const tag = 'Generations'

const generationId = z.string().min(1).max(256)
const idQuery = z.object({
  id: generationId.describe('The id of the generation, from the response header `X-Generation-Id`.'),
})

const feedbackBody = z.strictObject({
  generation_id: generationId,
  category: z.enum([
    'latency',
    'incoherence',
    'incorrect_response',
    'formatting',
    'billing',
    'api_error',
    'other',
  ]),
  comment: z.string().max(1000).optional(),
})

const getGeneration = defineOperation({
  id: 'getGeneration',
  method: 'GET',
  path: '/generation',
  tag,
  summary: 'Retrieves the record of a request to a model: tokens, cost, latency and attempts.',
  description:
    'An inference key can read the generations of its workspace, a management key those of its organization; a member those of their keys, or all of a workspace. Every request that reached a provider has a record as soon as its response is complete.',
  permission: 'generations:read',
  query: idQuery,
  errors: [404],
  response: z.strictObject({ data: generationRecord }),
  handle: async (context) => {
    const { gateway } = context
    const row = await requireGeneration(context, context.query.id)
    const [appId, hits, lines, parentId] = await Promise.all([
      findAppId(gateway.db, row.organization_id, row.app_url),
      listHitsOf(gateway.db, row.organization_id, row.id),
      listLines(gateway.db, row.id),
      findParentId(gateway.db, row.id),
    ])
    return { data: toGenerationRecord(gateway.catalog, row, { appId, hits, lines, parentId }) }
  },
})

const getGenerationContent = defineOperation({
  id: 'getGenerationContent',
  method: 'GET',
  path: '/generation/content',
  tag,
  summary: 'Retrieves the prompt and the reply of a generation, if they were stored.',
  description:
    'They are stored only while `is_observability_io_logging_enabled` is on in the workspace. Requires a management key, the key that made the request, or a member who created that key or has the permission `contents:read` in the workspace. Every reading is in the audit log.',
  permission: 'contents:read',
  query: idQuery,
  errors: [403, 404],
  response: z.strictObject({ data: generationContent }),
  handle: async (context) => {
    const { gateway, caller, query } = context
    const stored = await findContent(gateway, caller.organizationId, query.id)
    if (!stored) throw contentNotFoundError()
    const { workspaceId, userId: ownerId } = stored
    assertVisible(context, { workspaceId, ownerId }, contentNotFoundError)
    if (isInferenceKey(caller) && caller.key.id !== stored.keyId) throw notOwnerError()
    const target = { type: 'generation', id: query.id }
    await transact(context, async (_tx, record) => record({ action: 'content.read', target, workspaceId }))
    return { data: stored.content }
  },
})

const submitFeedback = defineOperation({
  id: 'submitGenerationFeedback',
  method: 'POST',
  path: '/generation/feedback',
  tag,
  summary: 'Submits feedback about a generation.',
  permission: 'generations:write',
  body: feedbackBody,
  errors: [404, 409],
  response: z.strictObject({ data: z.strictObject({ success: z.literal(true) }) }),
  handle: async (context) => {
    const { gateway, caller, body } = context
    const row = await requireGeneration(context, body.generation_id)
    await transact(context, async (tx, record) => {
      await insertFeedback(tx, gateway.clock, {
        organizationId: caller.organizationId,
        generationId: row.id,
        category: body.category,
        comment: body.comment ?? null,
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'feedback', row.id)
      record({
        action: 'feedback.create',
        target: { type: 'generation', id: row.id },
        workspaceId: row.workspace_id,
        details: { category: body.category },
      })
    })
    return { data: { success: true as const } }
  },
})

const explainRequest = defineOperation({
  id: 'explainGeneration',
  method: 'GET',
  path: '/generation/explanation',
  tag,
  summary: 'Explains why a request was routed, priced or refused as it was.',
  description:
    'An extension. The candidates in the order they were ranked and the reason of each exclusion, as decided when the request was made; every attempt; the price line by line, from the hold to the charge; the limit that was nearest; what guardrails found and a translation dropped. For a refused request: what would have let it pass. `POST /quote` says the same of a request that has not been sent.',
  permission: 'generations:read',
  query: idQuery,
  errors: [404],
  response: z.strictObject({ data: explanationRecord }),
  handle: async (context) => {
    const { db, catalog } = context.gateway
    const { id } = context.query
    const refused = await findRefusedOf(context, id)
    const row = refused ?? (await requireGeneration(context, id))
    const [plan, hits, lines, nearest, isOperator] = await Promise.all([
      row.routing_plan_id === null ? null : findPlan(db, row.routing_plan_id),
      listHitsOf(db, row.organization_id, id),
      listLines(db, id),
      'nearest_limit' in row ? findNearestLimit(db, row) : null,
      mayOperate(context.gateway, context.caller, 'system:read'),
    ])
    const recorded = (plan ?? null) as RecordedPlan | null
    if ('http_status' in row) return { data: explainRefusal(row, recorded, hits) }
    return { data: explainGeneration(catalog, row, { plan: recorded, hits, lines, nearest, isOperator }) }
  },
})

export const generationOperations = [
  ...logOperations,
  explainRequest,
  getGeneration,
  getGenerationContent,
  submitFeedback,
]

async function findRefusedOf(
  request: { gateway: Gateway; caller: Caller; scope: Scope },
  id: string,
): Promise<RefusedRow | null> {
  const row = await findRefused(request.gateway.db, id)
  if (row?.organization_id !== request.caller.organizationId) return null
  const { workspace_id: workspaceId, user_id: ownerId } = row
  assertVisible(request, { workspaceId, ownerId }, generationNotFoundError)
  return row
}

async function requireGeneration(
  request: { gateway: Gateway; caller: Caller; scope: Scope },
  id: string,
): Promise<GenerationRow> {
  const row = await findGeneration(request.gateway.db, request.caller.organizationId, id)
  if (!row) throw generationNotFoundError()
  const { workspace_id: workspaceId, user_id: ownerId } = row
  assertVisible(request, { workspaceId, ownerId }, generationNotFoundError)
  return row
}

function generationNotFoundError() {
  return gatewayError('not_found', 'The generation does not exist.')
}

function contentNotFoundError() {
  return gatewayError('not_found', 'No content was stored for this generation, or it does not exist.')
}

function notOwnerError() {
  return gatewayError(
    'forbidden',
    'Only a management key, or the key that made the request, can read the prompt and the reply.',
  )
}
