import type { Db } from '../db/db.ts'
import type { Vault } from '../lib/crypto.ts'
import { firstHash, signHead } from './chain.ts'
import type { AuditEntry } from './entry.ts'

export interface ChainHead {
  chain_id: string
  seq: number
  hash: string
}

/** The head of a chain, locked until the transaction ends. */
export async function lockChain(tx: Db, chainId: string): Promise<ChainHead> {
  return tx
    .insertInto('audit_chains')
    .values({ chain_id: chainId, seq: 0, hash: firstHash, signature: '' })
    .onConflict((conflict) =>
      conflict.column('chain_id').doUpdateSet((eb) => ({ seq: eb.ref('audit_chains.seq') })),
    )
    .returning(['chain_id', 'seq', 'hash'])
    .executeTakeFirstOrThrow()
}

export async function insertEntries(tx: Db, entries: AuditEntry[]): Promise<void> {
  if (entries.length > 0) await tx.insertInto('audit_entries').values(entries).execute()
}

export async function updateChain(tx: Db, vault: Vault, head: ChainHead): Promise<void> {
  await tx
    .updateTable('audit_chains')
    .set({ seq: head.seq, hash: head.hash, signature: signHead(vault, head) })
    .where('chain_id', '=', head.chain_id)
    .execute()
}
