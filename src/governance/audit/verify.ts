import { isSameText, type Vault } from '../../platform/crypto/crypto.ts'
import { type Db, runInSnapshot } from '../../platform/db/db.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { firstHash, hashEntry, signHead, signStart } from './chain.ts'
import type { AuditEntry } from './entry.ts'
import {
  type AuditChain,
  type ChainHead,
  findChain,
  findEntry,
  findHeadlessChain,
  listChainIds,
  readEntriesAfter,
} from './store.ts'
import { findAnchorProblems } from './verify-anchors.ts'

/** The state of a chain, and the first thing that is wrong with it. */
export interface ChainReport extends ChainHead {
  first_seq: number
  /** Entries that were read. */
  entries: number
  problem: string | null
}

/** A head that was noted earlier. */
export interface ExpectedHead extends ChainHead {
  /** Whether it is no problem that retention has deleted the entry. */
  mayBeDeleted?: boolean
}

interface VerifyDeps {
  db: Db
  vault: Vault
}

const batchSize = 1000
const chainPage = 500

/** Verifies every chain. `onProgress` gets the number of entries so far. */
export async function* verifyChains(
  { db, vault }: VerifyDeps,
  expected: readonly ExpectedHead[],
  onProgress: (entries: number) => void,
): AsyncGenerator<ChainReport> {
  const recorded = await runInSnapshot(db, (tx) => findAnchorProblems(tx, vault))
  const seen = new Set<string>()
  let total = 0
  for (let after = ''; ; ) {
    const ids = await listChainIds(db, after, chainPage)
    for (const id of ids) {
      seen.add(id)
      const heads = expected.filter(({ chain_id }) => chain_id === id)
      const count = (entries: number) => onProgress(total + entries)
      const report = await runInSnapshot(db, (tx) => verifyChain(tx, vault, id, heads, count))
      total += report.entries
      yield { ...report, problem: report.problem ?? recorded.get(id) ?? null }
    }
    const last = ids.at(-1)
    if (last === undefined) break
    after = last
  }
  for (const { chain_id } of expected)
    if (!recorded.has(chain_id))
      recorded.set(chain_id, 'The chain does not exist, although a head of it is expected.')
  yield* reportMissing(db, new Map([...recorded].filter(([id]) => !seen.has(id))))
}

async function* reportMissing(db: Db, missing: Map<string, string>): AsyncGenerator<ChainReport> {
  const empty = { seq: 0, hash: firstHash, first_seq: 1, entries: 0 }
  const headless = await findHeadlessChain(db)
  if (headless !== undefined)
    yield { ...empty, chain_id: headless, problem: 'The chain has entries but no head.' }
  for (const [chain_id, problem] of missing) yield { ...empty, chain_id, problem }
}

async function verifyChain(
  tx: Db,
  vault: Vault,
  id: string,
  expected: readonly ExpectedHead[],
  onProgress: (entries: number) => void,
): Promise<ChainReport> {
  const chain = await findChain(tx, id)
  if (!chain)
    return {
      chain_id: id,
      seq: 0,
      hash: firstHash,
      first_seq: 1,
      entries: 0,
      problem: 'The chain was deleted.',
    }
  const { seq, hash, first_seq } = chain
  const report = {
    chain_id: id,
    seq,
    hash,
    first_seq,
    entries: 0,
    problem: findSignatureProblem(vault, chain),
  }
  if (report.problem !== null) return report
  let last = { seq: first_seq - 1, hash: chain.first_hash }
  for (;;) {
    const batch = await readEntriesAfter(tx, id, last.seq, batchSize)
    for (const entry of batch) {
      const problem = findEntryProblem(vault, entry, last)
      if (problem !== null) return { ...report, problem }
      last = entry
      report.entries++
    }
    onProgress(report.entries)
    if (batch.length < batchSize) break
    await yieldToEventLoop()
  }
  return { ...report, problem: findHeadProblem(chain, last) ?? (await findRollback(tx, chain, expected)) }
}

function findSignatureProblem(vault: Vault, chain: AuditChain): string | null {
  // A chain that was locked for the first time, and not written to.
  const isEmpty = chain.seq === 0 && chain.hash === firstHash && chain.signature === ''
  if (!isEmpty && !isSameText(chain.signature, signHead(vault, chain)))
    return `The head (seq ${chain.seq}) is not signed with the secret of this installation.`
  const isWhole = chain.first_seq === 1 && chain.first_hash === firstHash && chain.first_signature === ''
  if (!isWhole && !isSameText(chain.first_signature, signStart(vault, chain)))
    return `The start (seq ${chain.first_seq}) is not signed with the secret of this installation.`
  return null
}

function findEntryProblem(
  vault: Vault,
  entry: AuditEntry,
  previous: { seq: number; hash: string },
): string | null {
  const name = `Entry ${entry.seq} (${entry.id}, ${entry.action}, ${entry.created_at})`
  if (entry.seq !== previous.seq + 1)
    return `Entry ${previous.seq + 1} is missing; the next is ${entry.seq} (${entry.id}).`
  if (entry.previous_hash !== previous.hash) return `${name} does not follow the entry before it.`
  if (!isSameText(entry.hash, hashEntry(vault, entry))) return `${name} was changed.`
  return null
}

function findHeadProblem(chain: AuditChain, last: { seq: number; hash: string }): string | null {
  if (last.seq < chain.seq) return `Entry ${last.seq + 1} is missing; the head is entry ${chain.seq}.`
  if (last.seq > chain.seq) return `The head is entry ${chain.seq}, but there are entries up to ${last.seq}.`
  return last.hash === chain.hash ? null : `The head does not have the hash of entry ${last.seq}.`
}

/** A database that was restored from a backup has a valid chain, which is shorter than the operator knows. */
async function findRollback(
  tx: Db,
  chain: AuditChain,
  expected: readonly ExpectedHead[],
): Promise<string | null> {
  for (const { seq, hash, mayBeDeleted } of expected) {
    if (mayBeDeleted && seq < chain.first_seq - 1) continue
    if (seq > chain.seq) return `The chain ends at entry ${chain.seq}, before the expected entry ${seq}.`
    if (seq < chain.first_seq - 1)
      return `Retention has deleted the expected entry ${seq}. Expect a later one.`
    const found =
      seq === chain.first_seq - 1 ? chain.first_hash : (await findEntry(tx, chain.chain_id, seq))?.hash
    if (found !== hash) return `Entry ${seq} does not have the expected hash.`
  }
  return null
}
