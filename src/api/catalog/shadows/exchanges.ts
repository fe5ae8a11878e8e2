import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { handleInference } from '../../../inference/serve.ts'
import {
  hasServerTools,
  type RecordedExchange,
  toMirroredRequest,
} from '../../../inference/shadow/exchange.ts'
import { isLiteLlmRecord, readLiteLlmRecord } from '../../../inference/shadow/litellm.ts'
import { type MirroredRequest, measureMirror, runMirror } from '../../../inference/shadow/mirror.ts'
import { skip } from '../../../inference/shadow/skip.ts'
import { GatewayError, gatewayError } from '../../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { yieldToEventLoop } from '../../../platform/time/time-slicer.ts'
import type { SkipReason } from '../../../storage/shadows/comparison-store.ts'
import { type Shadow, toShadow } from '../../../storage/shadows/shadow.ts'
import { exchangeBody, liteLlmBody } from './record.ts'
import { shadowRecords } from './store.ts'

const maxExchanges = 1000

const posted = z.union([exchangeBody, liteLlmBody])

export const postExchanges = defineOperation({
  id: 'compareShadowExchanges',
  method: 'POST',
  path: '/shadows/{id}/exchanges',
  tag: 'Shadows',
  summary: 'Mirrors requests that another gateway has answered, and compares the replies.',
  description:
    'The body is one exchange or a list of them: a request with the reply of the other gateway, or a record of a LiteLLM callback. The mirrors are sent after the response. The share of the shadow and its models do not apply.',
  permission: 'shadows:write',
  params: z.object({ id: z.uuid().toLowerCase() }),
  hasPrompts: true,
  body: z.union([posted, z.array(posted).min(1).max(maxExchanges)]),
  status: 202,
  errors: [404, 409],
  response: z.strictObject({
    accepted: z.int(),
    skipped: z.array(z.strictObject({ index: z.int(), reason: z.string(), message: z.string().nullable() })),
  }),
  handle: async (context) => {
    const { gateway, body, region, httpRequest } = context
    const row = await shadowRecords.require(gateway.db, context)
    if (row.enabled !== 1) throw gatewayError('conflict', 'The shadow is disabled.')
    const shadow = toShadow(row)
    const skipped: { index: number; reason: SkipReason; message: string | null }[] = []
    const list = Array.isArray(body) ? body : [body]
    for (const [index, value] of list.entries()) {
      const problem = add(gateway, shadow, value as JsonObject, { region, httpRequest })
      if (problem) {
        skip(gateway, shadow.id, problem.reason)
        skipped.push({ index, ...problem })
      }
      await yieldToEventLoop()
    }
    return { accepted: list.length - skipped.length, skipped }
  },
})

interface Problem {
  reason: SkipReason
  message: string | null
}

function add(
  gateway: Gateway,
  shadow: Shadow,
  value: JsonObject,
  origin: Pick<MirroredRequest, 'region' | 'httpRequest'>,
): Problem | null {
  const exchange = isLiteLlmRecord(value) ? readLiteLlmRecord(value) : toExchange(value)
  if (!exchange) return { reason: 'invalid', message: 'The record has no chat completion with a prompt.' }
  try {
    return addExchange(gateway, shadow, exchange, origin)
  } catch (error) {
    if (error instanceof GatewayError) return { reason: 'invalid', message: error.message.slice(0, 300) }
    throw error
  }
}

function addExchange(
  gateway: Gateway,
  shadow: Shadow,
  exchange: RecordedExchange,
  origin: Pick<MirroredRequest, 'region' | 'httpRequest'>,
): Problem | null {
  const unknown = findUnknownContext(exchange)
  if (unknown !== undefined)
    return { reason: 'invalid', message: `${unknown}: what it refers to is not known here.` }
  const request = toMirroredRequest(exchange, origin)
  if (hasServerTools(request)) return { reason: 'tools', message: null }
  if (request.body.plugins !== undefined) return { reason: 'plugins', message: null }
  if (Buffer.byteLength(request.source.text) > shadow.maxBodyBytes)
    return { reason: 'too_large', message: null }
  const isAdded = gateway.mirrors.add({
    shadowId: shadow.id,
    concurrency: shadow.concurrency,
    bytes: measureMirror(request),
    run: (signal) => runMirror(gateway, shadow, request, { handle: handleInference, signal }),
    drop: () => skip(gateway, shadow.id, 'shutdown'),
  })
  return isAdded ? null : { reason: 'queue_full', message: 'Send it again later.' }
}

/** Fields of `responses` that refer to what the other gateway has stored. */
const contextFields = ['previous_response_id', 'conversation', 'background'] as const

/** A mirror without the context would be another request. */
function findUnknownContext({ format, request }: RecordedExchange): string | undefined {
  if (format !== 'responses') return undefined
  return contextFields.find((name) => request[name] != null && request[name] !== false)
}

function toExchange(value: JsonObject): RecordedExchange {
  const { id, format, request, reply, error, model, provider, cost_usd, latency_ms, first_token_ms } =
    value as z.output<typeof exchangeBody>
  return {
    id: id ?? null,
    format: format ?? 'chat',
    request: request as JsonObject,
    reply: (reply as JsonObject | null | undefined) ?? null,
    error: error ?? (reply ? null : 'error'),
    model: model ?? null,
    provider: provider ?? null,
    costUsd: cost_usd ?? null,
    latencyMs: latency_ms ?? null,
    firstTokenMs: first_token_ms ?? null,
  }
}
