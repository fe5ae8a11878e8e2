import type { Gateway } from '../../gateway/gateway.ts'
import { buildReplyHeaders, buildStreamHeaders, sliceChunk } from '../reply/http-response.ts'
import type { InferenceRequest, Routed } from '../request/inference-request.ts'
import type { StoredReply } from './cache-entry.ts'
import { replayEntry } from './response-cache.ts'

/** Responds with the stored reply to an identical or similar request. */
export async function replyFromCache(
  gateway: Gateway,
  request: Routed<InferenceRequest>,
  stored: StoredReply,
): Promise<Response> {
  const { body, dropped, headers } = await replayEntry(gateway, request, stored)
  const allHeaders = { ...buildReplyHeaders(request, dropped), ...headers }
  if (!Array.isArray(body)) return Response.json(body, { headers: allHeaders })
  return new Response(iterateTexts(body), {
    headers: { ...buildStreamHeaders(request.format), ...allHeaders },
  })
}

async function* iterateTexts(texts: string[]): AsyncGenerator<string> {
  for (const text of texts) yield* sliceChunk(text)
}
