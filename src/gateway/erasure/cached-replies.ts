import { deleteShared } from '../../inference/cache/shared-responses.ts'
import type { ByteCache } from '../../platform/concurrency/byte-cache.ts'
import type { Gateway } from '../gateway.ts'
import { countCachedReplies, findErased, listErasedSince } from './erasure-store.ts'

/** A reply is cached for at most a day, and a request of before an erasure may end after it. */
const maxAgeMs = 2 * 86_400_000
const idsPerQuery = 500
/** Entries begin with the generation that produced them. */
const sourcePattern = /^\{"sourceId":"([^"]{1,100})"/

/** The passes of erasures that a cache has no replies of any more. */
const examinedPasses = new WeakMap<ByteCache, ReadonlySet<string>>()

/** Deletes replies to erased end users from the response cache of this node, once for each pass. */
export async function eraseCachedReplies(gateway: Gateway): Promise<void> {
  const { db, clock, responseCache } = gateway
  if (responseCache.count === 0) return
  const examined = examinedPasses.get(responseCache)
  const erased = await listErasedSince(db, new Date(clock.now() - maxAgeMs).toISOString())
  for (const { id, pass, organizationId, pseudonym } of erased) {
    if (examined?.has(`${id} ${pass}`)) continue
    const count = await eraseReplies(gateway, organizationId, pseudonym)
    if (count > 0) await countCachedReplies(db, id, count)
  }
  examinedPasses.set(responseCache, new Set(erased.map(({ id, pass }) => `${id} ${pass}`)))
}

async function eraseReplies(gateway: Gateway, organizationId: string, pseudonym: string): Promise<number> {
  const { db, responseCache, cluster } = gateway
  const hashes = Map.groupBy(listSources(responseCache, organizationId), ({ source }) => source)
  const sources = [...hashes.keys()]
  let count = 0
  for (let at = 0; at < sources.length; at += idsPerQuery) {
    const ids = sources.slice(at, at + idsPerQuery)
    for (const id of await findErased(db, organizationId, pseudonym, ids))
      for (const { hash } of hashes.get(id) ?? []) {
        responseCache.delete(hash)
        if (cluster.status.kind !== 'memory') deleteShared(gateway, hash)
        count++
      }
  }
  return count
}

function listSources(cache: ByteCache, organizationId: string): { hash: string; source: string }[] {
  return cache.list().flatMap(([hash, { bytes }]) => {
    if (!hash.startsWith(`${organizationId} `)) return []
    const [, source] = sourcePattern.exec(bytes.toString('latin1', 0, 128)) ?? []
    return source === undefined ? [] : [{ hash, source }]
  })
}
