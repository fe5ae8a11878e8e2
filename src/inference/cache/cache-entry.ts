import type { ServedTier } from '../../formats/vocabulary.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { UpstreamTarget } from '../../ledger/draft.ts'
import type { ByteCacheEntry } from '../../platform/concurrency/byte-cache.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import { buildUpstreamTarget } from '../hold/admit.ts'
import type { SettledReply } from '../request/inference-request.ts'
import { tierOf } from '../settle/settle.ts'
import type { SemanticOptions } from './options.ts'

/** The entry of a request that uses the response cache. */
export interface CacheKey {
  hash: string
  ttlSeconds: number
  shouldRefresh: boolean
  /** Null unless the reply to a similar request may be returned. */
  semantic: SemanticOptions | null
}

/** A stored reply, without what is specific to one request. */
export interface CacheEntry<R> {
  /** The generation that produced it. */
  sourceId: string
  target: Omit<UpstreamTarget, 'pricing'>
  /** Display name. */
  provider: string
  finish: ReplySummary['finishReasons'][number] | null
  dropped: string[]
  tier: ServedTier | null
  reply: R
}

export function buildEntry(
  gateway: Gateway,
  sourceId: string,
  { candidate, upstreamWireFormat, dropped, summary }: SettledReply,
  reply: unknown,
): CacheEntry<unknown> | null {
  if (!candidate) return null
  return {
    sourceId,
    target: buildUpstreamTarget(gateway, candidate, upstreamWireFormat),
    provider: candidate.endpoint.provider.name,
    finish: summary?.finishReasons[0] ?? null,
    dropped,
    tier: tierOf(candidate, summary),
    reply,
  }
}

/** Null if it is too long. */
export function encodeEntry(
  { clock }: Gateway,
  { ttlSeconds }: CacheKey,
  entry: CacheEntry<unknown>,
  maxBytes: number,
): ByteCacheEntry | null {
  // Estimated first: encoding a reply of many megabytes takes long.
  if (estimateJsonLength(entry.reply, maxBytes) > maxBytes) return null
  const bytes = Buffer.from(JSON.stringify(entry))
  if (bytes.length > maxBytes) return null
  const at = clock.now()
  return { bytes, at, until: at + ttlSeconds * 1000 }
}

/** A stored reply that was found: to an identical request, or to one of this similarity. */
export interface StoredReply extends ByteCacheEntry {
  similarity?: number
}

/** An entry that was found. */
export interface CacheHit<R> extends Pick<StoredReply, 'at' | 'until' | 'similarity'> {
  entry: CacheEntry<R>
}

export function openEntry<R>({ bytes, ...found }: StoredReply): CacheHit<R> {
  return { entry: JSON.parse(bytes.toString()), ...found }
}
