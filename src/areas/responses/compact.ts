import type { Gateway } from '../../app/gateway.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../lib/json-values.ts'
import { formats } from '../../pipeline/formats.ts'
import { handleInference } from '../../pipeline/inference.ts'
import { ownerOf } from '../../pipeline/request/caller.ts'
import { buildSummaryRequest, compactItems } from '../../pipeline/request/compaction.ts'
import { resolveConversation } from '../../pipeline/request/conversation.ts'
import type { IncomingRequest } from '../../pipeline/request/inference-request.ts'

/** Has the request's model summarize the conversation. */
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
