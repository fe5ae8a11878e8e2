import type { Reply } from '../../formats/call/event.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import type { InferenceRequest, SettledReply } from '../request/inference-request.ts'
import { buildEntry, type CacheKey, encodeEntry } from './cache-entry.ts'
import { ReplyRecorder } from './recorder.ts'
import { storeWhenSettled } from './response-cache.ts'
import { mayAnswerOthers, type SemanticLookup, storeSimilar } from './semantic-cache.ts'
import type { SemanticSlot } from './similar-entries.ts'

/** Stores the reply to a request once it is settled as completed. */
export function recordReply(
  gateway: Gateway,
  request: InferenceRequest,
  key: CacheKey,
  similar: SemanticLookup | null,
): void {
  const recorder = new ReplyRecorder(gateway.settings.response_cache.entry_bytes)
  request.replyObservers = [...request.replyObservers, () => recorder.restart()]
  storeWhenSettled(gateway, request, key, () => recorder.reply)
  if (!similar) return
  request.replyHeaders = { ...request.replyHeaders, ...buildLookupHeaders(similar) }
  const { slot } = similar
  if (!slot) return
  const store = (settled: SettledReply) =>
    storeForSimilar(gateway, request, { key, slot, settled, reply: recorder.reply }).catch((err: unknown) =>
      logOf(gateway, request).warn({ err }, 'failed to store a reply in the semantic cache'),
    )
  request.onSettled = [...request.onSettled, (settled) => void store(settled)]
}

interface RecordedReply {
  key: CacheKey
  slot: SemanticSlot
  settled: SettledReply
  reply: Reply | null
}

async function storeForSimilar(
  gateway: Gateway,
  request: InferenceRequest,
  { key, slot, settled, reply }: RecordedReply,
): Promise<void> {
  if (!reply || settled.status !== 'completed' || !mayAnswerOthers(reply)) return
  const entry = buildEntry(gateway, request.id, settled, reply)
  const stored = entry && encodeEntry(gateway, key, entry, gateway.settings.semantic_cache.entry_bytes)
  if (stored) await storeSimilar(gateway, request, slot, stored)
}

function buildLookupHeaders({ skipped }: SemanticLookup): Record<string, string> {
  return skipped
    ? { 'x-service-cache-mode': 'exact', 'x-service-cache-reason': skipped }
    : { 'x-service-cache-mode': 'semantic' }
}
