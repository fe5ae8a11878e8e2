import type { Db } from '../../platform/db/db.ts'
import { utcDay } from '../../platform/time/time.ts'
import { releaseAnchors } from './anchors.ts'
import { anchorChain } from './chain.ts'
import type { AuditOrigin } from './entry.ts'
import { deletePrefix, findChain, listChainIds, lockChain, readEntriesAfter } from './store.ts'
import { type AuditDeps, appendEvents } from './transaction.ts'

const dayMs = 86_400_000
const chainPage = 500
/** Entries of one transaction. */
const batchSize = 500

const retentionAction = 'audit.retention'

/**
 * Deletes the entries of each chain that are older than a number of whole days. What is left can still be verified:
 * the new start is signed.
 */
export async function deleteOldEntries(deps: AuditDeps, retentionDays: number | null): Promise<void> {
  if (retentionDays === null) return
  // Whole days, so that a chain gets at most a few entries about it in a day.
  const before = `${utcDay(deps.clock.now() - retentionDays * dayMs)}T00:00:00.000Z`
  for (let after = ''; ; ) {
    const ids = await listChainIds(deps.db, after, chainPage)
    for (const id of ids) while (await deleteBatch(deps, id, before));
    const last = ids.at(-1)
    if (last === undefined) return
    after = last
  }
}

/** Returns whether there may be more. */
async function deleteBatch(deps: AuditDeps, chainId: string, before: string): Promise<boolean> {
  // Usually nothing is old, and a lock is a write.
  if (!(await hasOldEntry(deps.db, chainId, before))) return false
  return deps.db.transaction().execute(async (tx) => {
    await lockChain(tx, chainId)
    const chain = await findChain(tx, chainId)
    const entries = await readEntriesAfter(tx, chainId, (chain?.first_seq ?? 1) - 1, batchSize)
    const end = entries.findIndex(({ created_at }) => created_at >= before)
    const old = end === -1 ? entries : entries.slice(0, end)
    const [first, last] = [old[0], old.at(-1)]
    // Otherwise the entry about a deletion would cause the next one, forever.
    const isOnlyAboutItself = old.length < batchSize && old.every(({ action }) => action === retentionAction)
    if (!first || !last || isOnlyAboutItself) return false
    if (chainId === anchorChain) await releaseAnchors(tx, old)
    await deletePrefix(tx, deps.vault, { chain_id: chainId, first_seq: last.seq + 1, first_hash: last.hash })
    const details = { before, first_seq: first.seq, last_seq: last.seq }
    const target = { type: 'audit', id: chainId }
    await appendEvents(tx, deps, originOf(chainId), [{ action: retentionAction, target, details }])
    return entries.length === batchSize && end === -1
  })
}

async function hasOldEntry(db: Db, chainId: string, before: string): Promise<boolean> {
  const chain = await findChain(db, chainId)
  const [first] = await readEntriesAfter(db, chainId, (chain?.first_seq ?? 1) - 1, 1)
  return first !== undefined && first.created_at < before
}

function originOf(organizationId: string): AuditOrigin {
  const actor = { type: 'job' as const, id: null, name: 'retention' }
  return { organizationId, actor, ip: null, userAgent: null, requestId: null }
}
