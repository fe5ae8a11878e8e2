import { ownerOf } from '../../../access/caller.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { buildSummaryRequest, compactItems } from '../../../inference/request/compaction.ts'
import { resolveConversation } from '../../../inference/request/conversation.ts'
import { formats } from '../../../inference/request/formats.ts'
import type { IncomingRequest } from '../../../inference/request/inference-request.ts'
import { handleInference } from '../../../inference/serve.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../../platform/json/json-values.ts'

/** Lets the request's model summarize the conversation. */
export async function compactConversation(
  gateway: Gateway,
  incoming: Omit<IncomingRequest, 'format'>,
): Promise<Response> {
  const owner = ownerOf(incoming.caller)
  const opened = await resolveConversation(gateway, owner, { ...incoming.body, store: false })
  const body = buildSummaryRequest(opened.body)
  const source = { ...incoming.source, text: JSON.stringify(body), body }
  const response = await handleInference(gateway, { ...incoming, body, source, format: formats.responses })
  const reply = asObject(await response.json()) ?? {}
  const summary = asString(reply.output_text)?.trim()
  if (!summary)
    throw gatewayError('upstream_failed', 'The model returned no summary. Retry, or use another model.')
  return Response.json(toCompactedResponse(reply, compactItems(gateway, owner, opened.body, summary)), {
    headers: response.headers,
  })
}

function toCompactedResponse(
  { id, created_at, usage, model, provider }: JsonObject,
  output: JsonObject[],
): JsonObject {
  return { id, object: 'response.compaction', created_at, model, provider, output, usage: usage ?? null }
}
