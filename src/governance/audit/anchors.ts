import { isoNow } from '../../platform/time/clock.ts'
import { anchorChain } from './chain.ts'
import type { AuditEntry, AuditOrigin } from './entry.ts'
import { appendHead, formatHead, parseHead, readHeadsFile } from './heads-file.ts'
import {
  type ChainHead,
  findChain,
  findEntry,
  forgetAnchors,
  listUnanchoredHeads,
  lockChain,
  saveAnchors,
} from './store.ts'
import { type AuditDeps, appendEvents } from './transaction.ts'

/** Heads per entry, which take about 20 KB. */
const headsPerEntry = 200

export const anchorAction = 'audit.anchor'

const origin: AuditOrigin = {
  organizationId: anchorChain,
  actor: { type: 'job', id: null, name: 'anchors' },
  ip: null,
  userAgent: null,
  requestId: null,
}

/**
 * Records the heads of all chains that changed in the chain of anchors: a chain that ends before its recorded head, or that
 * is gone, was manipulated. Then notes the head of the chain of anchors in a file, which the database cannot change.
 */
export async function anchorChains(deps: AuditDeps, headsPath: string): Promise<void> {
  while (await anchorBatch(deps));
  await noteHead(deps, headsPath)
}

/** Returns whether there may be more. */
async function anchorBatch(deps: AuditDeps): Promise<boolean> {
  // Usually nothing changed, and a lock is a write.
  if ((await listUnanchoredHeads(deps.db, 1)).length === 0) return false
  return deps.db.transaction().execute(async (tx) => {
    await lockChain(tx, anchorChain)
    const heads = await listUnanchoredHeads(tx, headsPerEntry)
    if (heads.length === 0) return false
    const target = { type: 'audit', id: anchorChain }
    const details = Object.fromEntries(heads.map((head, index) => [index, formatHead(head)]))
    await appendEvents(tx, deps, origin, [{ action: anchorAction, target, details }])
    await saveAnchors(tx, heads)
    return heads.length === headsPerEntry
  })
}

/** The heads that an entry of the chain of anchors records. */
export function readAnchoredHeads({ action, changes }: AuditEntry): ChainHead[] {
  if (action !== anchorAction || changes === null) return []
  const { details } = JSON.parse(changes) as { details: Record<string, string> }
  return Object.values(details).flatMap((text) => parseHead(text) ?? [])
}

/** Releases the heads that only deleted entries of the chain of anchors recorded, so that they are recorded again. */
export async function releaseAnchors(tx: AuditDeps['db'], deleted: readonly AuditEntry[]): Promise<void> {
  await forgetAnchors(tx, deleted.flatMap(readAnchoredHeads))
}

/** The entry is committed before: the file may lag behind the database, and is never ahead of it. */
async function noteHead({ db, clock }: AuditDeps, path: string): Promise<void> {
  const chain = await findChain(db, anchorChain)
  if (!chain) return
  const last = (await readHeadsFile(path))?.at(-1)
  if (last?.seq === chain.seq && last.hash === chain.hash) return
  if (last && !(await isPartOf(db, last)))
    throw new Error(
      `The audit log does not contain the head that ${path} ends with. Entries were lost or a backup was restored: run check-audit.`,
    )
  await appendHead(path, isoNow(clock), chain)
}

async function isPartOf(db: AuditDeps['db'], { seq, hash }: ChainHead): Promise<boolean> {
  const chain = await findChain(db, anchorChain)
  if (!chain || seq > chain.seq) return false
  if (seq < chain.first_seq) return true
  return (await findEntry(db, anchorChain, seq))?.hash === hash
}
