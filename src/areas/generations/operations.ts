import { z } from 'zod'
import { findParentId, listLines } from '../../account/bill-lines.ts'
import { assertWithinCeiling } from '../../account/ceilings.ts'
import { listHitsOf } from '../../account/guardrail-hits.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import { defineOperation } from '../../http/operation.ts'
import type { Caller } from '../../pipeline/request/caller.ts'
import { generationContent } from './content.ts'
import { generationRecord, toGenerationRecord } from './record.ts'
import { findAppId, findContent, findGeneration, insertFeedback, type Owner } from './store.ts'

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
    'An inference key can read the generations of its workspace, a management key those of its organization. Every request that reached a provider has a record as soon as its response is complete.',
  permission: 'generations:read',
  query: idQuery,
  errors: [404],
  response: z.strictObject({ data: generationRecord }),
  handle: async ({ gateway, caller, query }) => {
    const row = await findGeneration(gateway.db, ownerOf(caller), query.id)
    if (!row) throw generationNotFoundError()
    const [appId, hits, lines, parentId] = await Promise.all([
      findAppId(gateway.db, row.organization_id, row.app_url),
      listHitsOf(gateway.db, row.organization_id, row.id),
      listLines(gateway.db, row.id),
      findParentId(gateway.db, row.id),
    ])
    return { data: toGenerationRecord(gateway.catalogue, row, { appId, hits, lines, parentId }) }
  },
})

const getGenerationContent = defineOperation({
  id: 'getGenerationContent',
  method: 'GET',
  path: '/generation/content',
  tag,
  summary: 'Retrieves the prompt and the reply of a generation, if they were stored.',
  description:
    'They are stored only while `is_observability_io_logging_enabled` is on in the workspace. Requires a management key or the key that made the request.',
  permission: 'contents:read',
  query: idQuery,
  errors: [403, 404],
  response: z.strictObject({ data: generationContent }),
  handle: async ({ gateway, caller, query }) => {
    const stored = await findContent(gateway, ownerOf(caller), query.id)
    if (!stored)
      throw gatewayError('not_found', 'No content was stored for this generation, or it does not exist.')
    if (caller.key.kind !== 'management' && caller.key.id !== stored.keyId) throw notOwnerError()
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
  handle: async ({ gateway, caller, body }) => {
    const row = await findGeneration(gateway.db, ownerOf(caller), body.generation_id)
    if (!row) throw generationNotFoundError()
    await gateway.db.transaction().execute(async (tx) => {
      await insertFeedback(tx, gateway.clock, {
        organizationId: caller.organizationId,
        generationId: row.id,
        category: body.category,
        comment: body.comment ?? null,
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'feedback', row.id)
    })
    return { data: { success: true as const } }
  },
})

export const generationOperations = [getGeneration, getGenerationContent, submitFeedback]

/** An inference key sees the generations of its own workspace only. */
function ownerOf({ organizationId, key }: Caller): Owner {
  return { organizationId, workspaceId: key.kind === 'management' ? null : key.workspace_id }
}

function generationNotFoundError() {
  return gatewayError('not_found', 'The generation does not exist.')
}

function notOwnerError() {
  return gatewayError(
    'forbidden',
    'Only a management key, or the key that made the request, can read the prompt and the reply.',
  )
}
