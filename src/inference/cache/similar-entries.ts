import type { Gateway } from '../../gateway/gateway.ts'
import type { ByteCacheEntry } from '../../platform/concurrency/byte-cache.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import {
  deleteEntries,
  type EntryOwner,
  findReply,
  listEntries,
  listVectors,
  type StoredEntry,
} from './semantic-store.ts'
import { cosineOf, fromBytes, viewBytes } from './vectors.ts'

/** Where the reply to a request is stored for similar requests. */
export interface SemanticSlot {
  scope: string
  /** Of length 1. */
  vector: Float32Array
}

export interface SimilarReply extends ByteCacheEntry {
  /** The cosine similarity of the texts. */
  similarity: number
}

interface SearchTerms {
  /** The least similarity. */
  threshold: number
  /** Whether everything that is similar enough is deleted instead. */
  shouldRefresh: boolean
}

/** What the encryption of an entry is bound to: moved to another scope, it cannot be read. */
export function contextOf(scope: string, id: string): string {
  return `${scope} ${id}`
}

/** Finds the most similar reply of a scope, or deletes all that are similar enough. */
export async function searchEntries(
  gateway: Gateway,
  owner: EntryOwner,
  slot: SemanticSlot,
  { threshold, shouldRefresh }: SearchTerms,
): Promise<SimilarReply | null> {
  const matches = await findMatches(gateway, owner, slot, threshold)
  if (shouldRefresh) {
    await deleteEntries(
      gateway.db,
      matches.map(({ id }) => id),
    )
    return null
  }
  const best = matches.reduce<Match | null>((a, b) => (a && a.similarity >= b.similarity ? a : b), null)
  return best && loadReply(gateway, owner, slot.scope, best)
}

interface Match {
  id: string
  similarity: number
}

/** Entries whose vectors are read and compared in one turn of the event loop: a few milliseconds at most. */
const pageSize = 100
/** The difference that float32 makes to the cosine of equal vectors. */
const tolerance = 1e-6

/** The newest entries of a scope that are similar enough. */
async function findMatches(
  gateway: Gateway,
  owner: EntryOwner,
  { scope, vector }: SemanticSlot,
  threshold: number,
): Promise<Match[]> {
  const { db, clock, settings } = gateway
  const matches: Match[] = []
  let after: StoredEntry | undefined
  for (let left = settings.semantic_cache.max_entries; left > 0; left -= pageSize) {
    const limit = Math.min(left, pageSize)
    const page = await listEntries(db, { ...owner, scope }, { after, limit, now: isoNow(clock) })
    const vectors = await loadVectors(gateway, scope, page)
    for (const { id } of page) {
      const similarity = cosineOf(vector, vectors.get(id) ?? noVector)
      if (similarity >= threshold - tolerance) matches.push({ id, similarity })
    }
    if (page.length < limit) break
    after = page.at(-1)
    await yieldToEventLoop()
  }
  return matches
}

const noVector = new Float32Array()

/** Decrypted vectors in memory: five thousand of 1,536 numbers. */
const maxVectorBytes = 32 * 1024 * 1024

/** The vectors of entries, which never change: those in memory are not read again. */
async function loadVectors(
  gateway: Gateway,
  scope: string,
  entries: readonly StoredEntry[],
): Promise<Map<string, Float32Array>> {
  const { db, semanticVectors, clock } = gateway
  const vectors = new Map<string, Float32Array>()
  const missing: string[] = []
  for (const { id } of entries) {
    const known = semanticVectors.get(contextOf(scope, id), clock.now())
    if (known) vectors.set(id, viewBytes(known.bytes))
    else missing.push(id)
  }
  if (missing.length === 0) return vectors
  for (const { id, vector } of await listVectors(db, missing)) {
    const numbers = openVector(gateway, contextOf(scope, id), vector)
    if (numbers) vectors.set(id, numbers)
  }
  return vectors
}

/** Null for an entry of another encryption key or scope. */
function openVector(
  { vault, semanticVectors }: Gateway,
  context: string,
  encrypted: Uint8Array,
): Float32Array | null {
  try {
    const numbers = fromBytes(vault.decryptBytes(encrypted, context))
    const entry = { bytes: Buffer.from(numbers.buffer), at: 0, until: Number.POSITIVE_INFINITY }
    semanticVectors.set(context, entry, maxVectorBytes)
    return numbers
  } catch {
    return null
  }
}

async function loadReply(
  { db, vault }: Gateway,
  owner: EntryOwner,
  scope: string,
  { id, similarity }: Match,
): Promise<SimilarReply | null> {
  const row = await findReply(db, owner, id)
  if (!row) return null
  const [at, until] = [Date.parse(row.created_at), Date.parse(row.expires_at)]
  return { bytes: Buffer.from(vault.decrypt(row.reply, contextOf(scope, id))), at, until, similarity }
}
