import { collectReply, type Reply, type ReplyEvent } from '../../formats/call/event.ts'
import { replayEvents } from '../../formats/call/replay.ts'
import { zeroUsage } from '../../formats/call/usage.ts'
import type { ReplyContext } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { zeroCharge } from '../../ledger/charge.ts'
import type { Settlement } from '../../ledger/engine.ts'
import { buildSettlement, type SettledGeneration } from '../../ledger/settlement.ts'
import type { ByteCacheEntry } from '../../platform/concurrency/byte-cache.ts'
import type { Statement } from '../../platform/db/batch.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { type LoggedRequest, logOf } from '../../platform/logging/request-log.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import { completeHits } from '../guard/hits.ts'
import { admitFree } from '../hold/admit.ts'
import type { Awaitable } from '../reply/join-texts.ts'
import { createTranscript } from '../reply/transcript.ts'
import { createPipeline } from '../reply/transforms.ts'
import type {
  Admitted,
  InferenceRequest,
  RequestState,
  Routed,
  SettledReply,
} from '../request/inference-request.ts'
import { forbidsRetention } from '../request/retention.ts'
import { isVendorSdk } from '../request/vendor-sdk.ts'
import { buildRecordStatements } from '../settle/records.ts'
import { recordCachedReply } from '../settle/reply-span.ts'
import { buildCost, encodeDropped, settle, toFinishColumns } from '../settle/settle.ts'
import { processEvents, type WholeReply } from '../upstream/decode-reply.ts'
import {
  buildEntry,
  type CacheEntry,
  type CacheHit,
  type CacheKey,
  encodeEntry,
  openEntry,
  type StoredReply,
} from './cache-entry.ts'
import {
  type CacheableRequest,
  cacheHeader,
  cacheSynonym,
  computeCacheHash,
  parseCacheOptions,
} from './options.ts'
import { deleteShared, findShared, storeShared } from './shared-responses.ts'

type TextEntry = CacheEntry<Reply>

/** Computes the key of a request; null if the request does not use the cache. */
export function resolveCacheKey(gateway: Gateway, request: CacheableRequest): CacheKey | null {
  if (!gateway.settings.response_cache.enabled) return null
  const { headers } = request.httpRequest
  const preset = request.presetId === null ? null : request.content.body
  if (!preset && !headers.has(cacheHeader) && !headers.has(cacheSynonym)) return null
  const { enabled, ...options } = parseCacheOptions(headers, preset)
  if (!enabled || forbidsRetention(request)) return null
  return { hash: computeCacheHash(request), ...options }
}

/** A promise only if another node may have stored the reply. */
export function lookupCache(
  gateway: Gateway,
  request: LoggedRequest,
  key: CacheKey,
): ByteCacheEntry | undefined | Promise<ByteCacheEntry | undefined> {
  const { responseCache, cluster, clock } = gateway
  const isShared = cluster.status.kind !== 'memory'
  if (key.shouldRefresh) {
    responseCache.delete(key.hash)
    if (isShared) deleteShared(gateway, key.hash)
  }
  const stored = responseCache.get(key.hash, clock.now())
  if (!stored && !key.shouldRefresh && isShared) return findElsewhere(gateway, request, key)
  return countLookup(gateway, stored)
}

async function findElsewhere(
  gateway: Gateway,
  request: LoggedRequest,
  { hash }: CacheKey,
): Promise<ByteCacheEntry | undefined> {
  const { responseCache, settings } = gateway
  const stored = await findShared(gateway, request, hash)
  if (stored) responseCache.set(hash, stored, settings.response_cache.bytes)
  return countLookup(gateway, stored)
}

function countLookup({ metrics }: Gateway, stored: ByteCacheEntry | undefined): ByteCacheEntry | undefined {
  metrics.recordCacheLookup(stored ? 'hit' : 'miss')
  return stored
}

/** Stores a reply once its request is settled as completed. A failure to store must not fail the request. */
export function storeWhenSettled(
  gateway: Gateway,
  request: RequestState,
  key: CacheKey,
  readReply: () => unknown,
): void {
  const store = (settled: SettledReply) => {
    const reply = readReply()
    if (!reply || settled.status !== 'completed') return
    try {
      writeEntry(gateway, key, buildEntry(gateway, request.id, settled, reply))
    } catch (err) {
      logOf(gateway, request).warn({ err }, 'failed to cache a reply')
    }
  }
  request.onSettled = [...request.onSettled, store]
  request.replyHeaders = { ...request.replyHeaders, ...buildMissHeaders(key) }
}

function buildMissHeaders({ ttlSeconds }: CacheKey): Record<string, string> {
  return { 'x-service-cache-status': 'MISS', 'x-service-cache-ttl': String(ttlSeconds) }
}

function writeEntry(gateway: Gateway, key: CacheKey, entry: CacheEntry<unknown> | null): void {
  const { responseCache, cluster, settings } = gateway
  const stored = entry && encodeEntry(gateway, key, entry, settings.response_cache.entry_bytes)
  if (!stored) return
  responseCache.set(key.hash, stored, settings.response_cache.bytes)
  if (cluster.status.kind !== 'memory') storeShared(gateway, key.hash, stored)
}

/** A stored reply, encoded for a request. */
export interface CachedReply {
  /** Whole, or the texts of a stream. */
  body: JsonObject | string[]
  dropped: string[]
  headers: Record<string, string>
}

/** A cache hit is free, but it counts against rate limits and has its own generation. */
export async function replayEntry(
  gateway: Gateway,
  request: Routed<InferenceRequest>,
  stored: StoredReply,
): Promise<CachedReply> {
  const hit = openEntry<Reply>(stored)
  const { entry } = hit
  request.attempts.transcript = createTranscript(request)
  const { events, summary, refusal } = await replayReply(request, entry)
  if (refusal) throw refusal
  const { body, finalBody } = request.content.stream
    ? encodeStream(request, entry, events)
    : encodeWhole(request, entry, events)
  const extraStatements = finalBody ? await request.store?.(finalBody) : undefined
  const headers = await settleHit(gateway, request, hit, extraStatements)
  return { body, dropped: [...entry.dropped, ...summary.losses], headers }
}

/** The reply was filtered when it was stored, and is again: what is only recorded belongs to each request. */
function replayReply(request: InferenceRequest, { reply }: TextEntry): Awaitable<WholeReply> {
  const pipeline = createPipeline(request, request.attempts.transcript)
  return processEvents(replayEvents(reply), null, pipeline, request.format.replyCodec.replyLimits)
}

/** Records a cache hit as a generation of its own, at no charge; returns the headers of its reply. */
export async function settleHit(
  gateway: Gateway,
  request: Routed,
  hit: CacheHit<unknown>,
  extraStatements: readonly Statement[] = [],
): Promise<Record<string, string>> {
  const { entry, at, until, similarity } = hit
  const admitted = await withSpan(request, 'admit', admitFree, gateway, request)
  await completeHits(gateway, request)
  recordCachedReply(gateway, request, entry.target)
  gateway.metrics.models.recordCached(request, entry.target)
  const settlement = createSettlement(gateway, admitted, hit, extraStatements)
  await withSpan(request, 'settle', settle, gateway, settlement, request)
  const now = gateway.clock.now()
  return {
    'x-service-cache-status': 'HIT',
    'x-service-cache-age': String(Math.max(0, Math.floor((now - at) / 1000))),
    'x-service-cache-ttl': String(Math.max(0, Math.ceil((until - now) / 1000))),
    'x-service-cache-source-id': entry.sourceId,
    ...(similarity !== undefined && {
      'x-service-cache-mode': 'semantic',
      'x-service-cache-similarity': similarity.toFixed(4),
    }),
  }
}

/** The cost of a hit: nothing but the requests that were made on its behalf. */
export const buildHitCost = ({ work }: RequestState) => buildCost(zeroCharge, null, work)

function encodeWhole(
  request: InferenceRequest,
  entry: TextEntry,
  events: readonly ReplyEvent[],
): { body: JsonObject; finalBody: JsonObject } {
  const reply = { ...collectReply(events), usage: zeroUsage }
  const body = request.format.replyCodec.encodeReply(
    reply,
    buildReplyContext(request, entry),
    buildHitCost(request),
  )
  return { body, finalBody: body }
}

function encodeStream(
  request: InferenceRequest,
  entry: TextEntry,
  events: readonly ReplyEvent[],
): { body: string[]; finalBody: JsonObject | null } {
  const writer = request.format.replyCodec.createWriter(buildReplyContext(request, entry))
  const texts = events.map((event) => writer.write(event))
  texts.push(writer.end(zeroUsage, buildHitCost(request)))
  return { body: texts.filter((text) => text !== ''), finalBody: writer.finalBody }
}

function buildReplyContext(
  { id, at, content, options, httpRequest }: InferenceRequest,
  { target, provider, tier }: TextEntry,
): ReplyContext {
  const { reasoningFormatNames } = options
  return {
    id,
    created: Math.floor(at / 1000),
    model: target.model,
    provider,
    tier,
    call: content.call,
    body: content.body,
    formatNames: reasoningFormatNames,
    isVendorClient: isVendorSdk(httpRequest),
  }
}

function createSettlement(
  gateway: Gateway,
  request: Admitted,
  { entry, similarity }: CacheHit<unknown>,
  extraStatements: readonly Statement[],
): Settlement {
  const { target, finish, dropped, tier, sourceId } = entry
  const { draft, meteredIn } = request.hold
  const latency = Math.round(performance.now() - request.startedAt)
  const settled: SettledGeneration = {
    draft: draft.generation,
    target: { ...target, is_byok: 0 },
    charge: zeroCharge,
    end: {
      status: 'completed',
      ...toFinishColumns(finish),
      latency_ms: latency,
      first_token_ms: request.content.stream ? latency : null,
      dropped: encodeDropped(dropped, [], request.options),
      service_tier: tier,
      response_cache_source_id: sourceId,
      cache_similarity: similarity === undefined ? null : Math.round(similarity * 10_000),
    },
  }
  request.work?.bill.markRecorded()
  const source = { error: null, summary: null, candidate: null, lines: request.work?.bill.lines ?? [] }
  const records = buildRecordStatements(gateway, request, settled, source)
  const settlement = buildSettlement(settled, meteredIn, [...extraStatements, ...records])
  return { ...settlement, isShared: extraStatements.length > 0 }
}
