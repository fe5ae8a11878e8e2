import { isSameText, type Vault } from '../../platform/crypto/crypto.ts'
import type { Db } from '../../platform/db/db.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { readAnchoredHeads } from './anchors.ts'
import { anchorChain, hashEntry } from './chain.ts'
import type { AuditEntry } from './entry.ts'
import { type AuditChain, type ChainHead, findChain, findHashes, readEntriesAfter } from './store.ts'

const batchSize = 100

/** The chains that lack a head which the chain of anchors records, and what is wrong with each. Call it in a snapshot. */
export async function findAnchorProblems(tx: Db, vault: Vault): Promise<Map<string, string>> {
  const check = new AnchorCheck(tx)
  for (let after = 0; ; ) {
    const entries = await readEntriesAfter(tx, anchorChain, after, batchSize)
    // A changed entry is a problem of the chain of anchors itself.
    for (const entry of entries) if (isSameText(entry.hash, hashEntry(vault, entry))) await check.add(entry)
    const last = entries.at(-1)
    if (last === undefined) return check.problems
    after = last.seq
    await yieldToEventLoop()
  }
}

class AnchorCheck {
  readonly problems = new Map<string, string>()
  readonly #chains = new Map<string, AuditChain | null>()
  readonly #tx: Db

  constructor(tx: Db) {
    this.#tx = tx
  }

  /** Every recorded head, not only the last: a chain that lost its end may have been continued since. */
  async add(entry: AuditEntry): Promise<void> {
    const heads = readAnchoredHeads(entry)
    const hashes = heads.length === 0 ? new Map<string, string>() : await findHashes(this.#tx, heads)
    for (const head of heads) {
      const chain = await this.#findChain(head.chain_id)
      const problem = findProblem(chain, head, hashes.get(`${head.chain_id}:${head.seq}`))
      if (problem !== null && !this.problems.has(head.chain_id))
        this.problems.set(head.chain_id, `${problem} (Recorded at ${entry.created_at}.)`)
    }
  }

  async #findChain(id: string): Promise<AuditChain | null> {
    const known = this.#chains.get(id)
    if (known !== undefined) return known
    const chain = (await findChain(this.#tx, id)) ?? null
    this.#chains.set(id, chain)
    return chain
  }
}

function findProblem(chain: AuditChain | null, { seq, hash }: ChainHead, found?: string): string | null {
  if (chain === null) return `The chain does not exist, although its entry ${seq} is recorded.`
  if (seq > chain.seq) return `The chain ends at entry ${chain.seq}, before the recorded entry ${seq}.`
  // Deleted by retention, which signs what it deletes.
  if (seq < chain.first_seq - 1) return null
  const present = seq === chain.first_seq - 1 ? chain.first_hash : found
  return present === hash ? null : `Entry ${seq} does not have the recorded hash.`
}
