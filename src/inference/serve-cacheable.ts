import { zeroUsage } from '../formats/call/usage.ts'
import type { MediaReply, MediaReplyContext, MediaWireFormat } from '../formats/media.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { ByteCacheEntry } from '../platform/concurrency/byte-cache.ts'
import { withSpan } from '../platform/tracing/span-recorder.ts'
import { type CacheEntry, openEntry } from './cache/cache-entry.ts'
import {
  buildHitCost,
  lookupCache,
  resolveCacheKey,
  settleHit,
  storeWhenSettled,
} from './cache/response-cache.ts'
import { admit } from './hold/admit.ts'
import { excludeUnfit } from './media/fit.ts'
import { parseMediaRequest } from './media/parse.ts'
import { type EncodedReply, replyWithMedia, toResponse } from './media/reply-whole.ts'
import type { IncomingMedia, MediaRequest, MediaTask } from './media/task.ts'
import { buildReplyHeaders } from './reply/http-response.ts'
import { createTranscript } from './reply/transcript.ts'
import type { Routed } from './request/inference-request.ts'
import { serveRequest } from './serve.ts'
import { guardMedia } from './stages/guard.ts'

type EncodeFn<Call, Reply> = (reply: Reply, context: MediaReplyContext, call: Call) => EncodedReply

/** Handles a request with the response cache: for tasks whose replies are whole and can be stored as JSON. */
export async function handleCacheable<Call, D extends MediaWireFormat<Call>, Reply extends MediaReply>(
  gateway: Gateway,
  incoming: IncomingMedia<Call>,
  task: MediaTask<Call, D, Reply>,
  encodeReply: EncodeFn<Call, Reply>,
): Promise<Response> {
  const parsed = await parseMediaRequest(gateway, incoming, task)
  return serveRequest<MediaRequest<Call>>(gateway, parsed, {
    prepare: guardMedia,
    reply: async (_gateway, request) => {
      request.plan = excludeUnfit(request.plan, request.media, task)
      const key = resolveCacheKey(gateway, request)
      const stored = key && (await withSpan(request, 'cache lookup', lookupCache, gateway, request, key))
      if (stored) return replyFromCache(gateway, request, stored, encodeReply)
      const admitted = await withSpan(request, 'admit', admit<MediaRequest<Call>>, gateway, request)
      if (!key) return replyWithMedia(gateway, admitted, task, encodeReply)
      let received: Reply | undefined
      storeWhenSettled(gateway, request, key, () => received)
      return replyWithMedia(gateway, admitted, task, (reply, context, call) => {
        received = reply
        return encodeReply(reply, context, call)
      })
    },
  })
}

/** Responds with the stored reply to an identical request, at no charge. */
async function replyFromCache<Call, Reply extends MediaReply>(
  gateway: Gateway,
  request: Routed<MediaRequest<Call>>,
  stored: ByteCacheEntry,
  encodeReply: EncodeFn<Call, Reply>,
): Promise<Response> {
  const hit = openEntry<Reply>(stored)
  const { entry } = hit
  const reply = { ...entry.reply, usage: zeroUsage, units: [] }
  const body = encodeReply(reply, buildHitContext(request, entry), request.media)
  request.attempts.transcript = createTranscript(request)
  const headers = await settleHit(gateway, request, hit)
  return toResponse(gateway, body, { ...buildReplyHeaders(request, entry.dropped), ...headers })
}

function buildHitContext<Call>(
  request: MediaRequest<Call>,
  { target, provider }: CacheEntry<unknown>,
): MediaReplyContext {
  const { id, at } = request
  return {
    id,
    created: Math.floor(at / 1000),
    model: target.model,
    provider,
    usage: zeroUsage,
    cost: buildHitCost(request),
    metadata: null,
  }
}
