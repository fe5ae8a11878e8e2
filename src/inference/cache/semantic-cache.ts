import type { Choice, Reply } from '../../formats/call/event.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { ByteCacheEntry } from '../../platform/concurrency/byte-cache.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import { mayLookUp } from '../hold/admit.ts'
import { addNestedRequest, type NestedRequestLine } from '../hold/bill-line.ts'
import type { InferenceRequest, RequestState, Routed } from '../request/inference-request.ts'
import { requireWork } from '../request/work.ts'
import { embedText } from '../stages/embed-text.ts'
import type { SemanticOptions } from './options.ts'
import { buildSemanticQuery, type SemanticQuery, type SkipReason } from './semantic-scope.ts'
import { type EntryOwner, insertEntry } from './semantic-store.ts'
import { contextOf, type SemanticSlot, type SimilarReply, searchEntries } from './similar-entries.ts'
import { normalizeVector, toBytes } from './vectors.ts'

/** The result of a lookup by similarity. */
export interface SemanticLookup {
  /** The stored reply to a similar request; null if there is none. */
  stored: SimilarReply | null
  /** Where the reply to this request is to be stored; null if it must not be. */
  slot: SemanticSlot | null
  /** Why nothing was compared; null if it was. */
  skipped: SkipReason | null
}

const skip = (reason: SkipReason): SemanticLookup => ({ stored: null, slot: null, skipped: reason })

interface LookupTerms {
  semantic: SemanticOptions | null
  /** Whether similar entries are deleted instead. */
  shouldRefresh: boolean
}

/** Looks for the reply to a similar request. A failure is a miss. */
export async function lookupSimilar(
  gateway: Gateway,
  request: Routed<InferenceRequest>,
  { semantic, shouldRefresh }: LookupTerms,
): Promise<SemanticLookup | null> {
  if (!semantic) return null
  const lookup = await findSimilar(gateway, request, semantic, shouldRefresh)
  const { stored, skipped } = lookup
  gateway.metrics.recordCacheLookup(stored ? 'semantic_hit' : skipped ? 'semantic_skipped' : 'semantic_miss')
  return lookup
}

async function findSimilar(
  gateway: Gateway,
  request: Routed<InferenceRequest>,
  options: SemanticOptions,
  shouldRefresh: boolean,
): Promise<SemanticLookup> {
  const query = buildSemanticQuery(gateway, request, options)
  if (typeof query === 'string') return skip(query)
  if (!(await mayLookUp(gateway, request))) return skip('embedding_failed')
  const vector = await embed(gateway, request, query)
  if (!vector) return skip('embedding_failed')
  const slot = { scope: query.scope, vector }
  const threshold = options.threshold ?? gateway.settings.semantic_cache.threshold
  try {
    const searching = searchEntries(gateway, ownerOf(request), slot, { threshold, shouldRefresh })
    const stored = await gateway.timer.wait(searching, gateway.settings.semantic_cache.timeout)
    if (stored !== timedOut) return { stored, slot, skipped: null }
    logOf(gateway, request).warn('search of the semantic cache took too long')
  } catch (err) {
    logOf(gateway, request).warn({ err }, 'failed to search the semantic cache')
  }
  return skip('search_failed')
}

function ownerOf({ caller }: RequestState): EntryOwner {
  return { organizationId: caller.organizationId, workspaceId: caller.key.workspace_id }
}

/** The vector of a text, of length 1; null if the embedding fails. What it has cost is on the bill in any case. */
async function embed(
  gateway: Gateway,
  request: InferenceRequest,
  { text, model }: SemanticQuery,
): Promise<Float32Array | null> {
  const { timeout } = gateway.settings.semantic_cache
  const timeoutMs = Math.min(timeout, request.timeLimitMs ?? timeout)
  const lines: NestedRequestLine[] = []
  try {
    return normalizeVector(await embedText(gateway, request, { text, model, timeoutMs }, lines))
  } catch (error) {
    // The message may quote the prompt.
    const code = error instanceof GatewayError ? error.code : 'internal'
    logOf(gateway, request).warn({ model, code }, 'prompt not embedded for the semantic cache')
    return null
  } finally {
    addToBill(request, lines)
  }
}

/** A free embedding needs no bill. */
function addToBill(request: InferenceRequest, lines: readonly NestedRequestLine[]): void {
  for (const line of lines) {
    if (!request.work && line.cost === 0n) continue
    requireWork(request)
    addNestedRequest(request, line)
  }
}

/** Stores a reply for similar requests. Resolves when that is durable. */
export async function storeSimilar(
  gateway: Gateway,
  request: InferenceRequest,
  { scope, vector }: SemanticSlot,
  { bytes, at, until }: ByteCacheEntry,
): Promise<void> {
  const { db, vault, settings } = gateway
  const { max_entries, workspace_entries } = settings.semantic_cache
  const { id } = request
  const entry = {
    id,
    ...ownerOf(request),
    scope,
    createdAt: new Date(at).toISOString(),
    expiresAt: new Date(until).toISOString(),
    vector: vault.encryptBytes(toBytes(vector), contextOf(scope, id)),
    reply: vault.encrypt(bytes.toString(), contextOf(scope, id)),
  }
  await insertEntry(db, entry, { scopeEntries: max_entries, workspaceEntries: workspace_entries })
}

/** Whether a reply may answer another text: a call of a tool has arguments from the text, and an incomplete one none. */
export function mayAnswerOthers({ choices }: Reply): boolean {
  const isText = ({ end, parts }: Choice) =>
    end?.reason === 'stop' && parts.every((part) => part?.kind !== 'tool-call')
  return choices.length > 0 && choices.every(isText)
}
