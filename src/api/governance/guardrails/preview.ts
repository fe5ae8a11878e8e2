import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { hitRecord } from '../../../governance/guardrail-hits.ts'
import { layerNames } from '../../../governance/policy/effective.ts'
import { assertRegionAllowed } from '../../../governance/policy/guard.ts'
import { defineOperation } from '../../../http/operation.ts'
import { formatName, resolveRequest } from '../../../inference/any-format/resolve.ts'
import type { ResolvedRequest } from '../../../inference/any-format/resolved-request.ts'
import { findBlock } from '../../../inference/guard/block.ts'
import { assertRoutable, buildPlan } from '../../../inference/plan/plan.ts'
import { GatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { resolveRequestId } from '../../../platform/http/request-id.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { buildDraftContext, draftBody, requireKey } from './draft.ts'
import { historyOperation } from './history.ts'
import { locateHits } from './locate-hits.ts'
import { requestsOperation } from './requests-preview.ts'

const previewBody = z.strictObject({
  guardrail: draftBody,
  request: z.looseObject({}).describe('The body of a request to a model, in any format.'),
  format: formatName.optional().describe('As in POST /quote; detected from the body by default.'),
  api_key_hash: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('Combines the draft with the guardrails of this key. Without it the draft applies alone.'),
  layer: z
    .enum(layerNames)
    .optional()
    .describe('Requires api_key_hash: the layer whose guardrail the draft replaces. Defaults to key.'),
})

const previewHit = z
  .strictObject({
    ...hitRecord.shape,
    message: z.int().nullable().describe('The index of the message; null outside of messages.'),
    positions: z
      .array(z.strictObject({ start: z.int(), end: z.int() }))
      .describe('In UTF-16 code units, in the text of the part without JSON escapes. At most 100.'),
  })
  .meta({ id: 'PreviewHit' })

const preview = z
  .strictObject({
    outcome: z.enum(['allowed', 'redacted', 'blocked']),
    error: z.looseObject({}).nullable().describe('The error the client would get, in its format.'),
    hits: z.array(previewHit).describe('At most 1000.'),
    redacted_request: z
      .looseObject({})
      .nullable()
      .describe('The request as it would be continued with; null if it is blocked or unchanged.'),
  })
  .meta({ id: 'GuardrailPreview' })

const previewGuardrail = defineOperation({
  id: 'previewGuardrail',
  method: 'POST',
  path: '/guardrails/preview',
  tag: 'Guardrails',
  summary: 'Evaluates a draft of a guardrail against a request, without sending or recording it.',
  permission: 'guardrails:read',
  body: previewBody,
  errors: [404],
  response: z.strictObject({ data: preview }),
  handle: async ({ gateway, caller, scope, region, httpRequest, body, source }) => {
    if (body.layer !== undefined && body.api_key_hash === undefined)
      throw invalidFieldError('layer', 'requires api_key_hash')
    rejectStoredContent(body.request)
    const key =
      body.api_key_hash === undefined ? null : await requireKey(gateway, { caller, scope }, body.api_key_hash)
    const target = key ? { key, layer: body.layer ?? ('key' as const) } : { key: caller.key, layer: null }
    const keyContext = await buildDraftContext(gateway, body.guardrail, target)
    const request: JsonObject = body.request
    const input = {
      ...{ caller, region, httpRequest, keyContext, body: request },
      source: { text: JSON.stringify(request), body: request, values: source.values },
    }
    return { data: await evaluate(gateway, await resolveRequest(gateway, input, body.format)) }
  },
})

export const previewOperations = [previewGuardrail, historyOperation, requestsOperation]

/** A preview shows the request: what the caller has not sent must not be part of it. */
function rejectStoredContent(request: JsonObject): void {
  for (const field of ['previous_response_id', 'conversation']) {
    if (request[field] !== undefined && request[field] !== null)
      throw invalidFieldError(`request.${field}`, 'is not supported in previews; send the whole conversation')
  }
}

async function evaluate(gateway: Gateway, resolved: ResolvedRequest): Promise<z.input<typeof preview>> {
  const { request } = resolved
  const hits = request.hits ?? []
  const error = findGuardrailError(gateway, resolved)
  const isRedacted = !error && hits.some(({ action, isEnforced }) => action === 'redact' && isEnforced)
  const rules = request.keyContext.contentRules?.input ?? null
  return {
    outcome: error ? 'blocked' : isRedacted ? 'redacted' : 'allowed',
    error: error && resolved.encodeError(error, resolveRequestId(request.httpRequest)),
    hits: await locateHits(gateway.scanner, rules, resolved.original, hits),
    redacted_request: isRedacted ? request.content.body : null,
  }
}

/** Errors of other causes, such as an unknown model, are not the draft's. */
function findGuardrailError(gateway: Gateway, { request }: ResolvedRequest): GatewayError | null {
  try {
    assertRegionAllowed(request.keyContext.policy, request.region)
    const block = findBlock(request.hits ?? [])
    if (block) return block
    assertRoutable(gateway, request, buildPlan(gateway, request, null))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return error.code === 'guardrail_blocked' ? error : null
  }
  return null
}
