import type { Vault } from '../../platform/crypto/crypto.ts'
import type { AuditEntry } from './entry.ts'

/** The chain of events that belong to no organization. */
export const installationChain = 'installation'

/** The chain that records the heads of all others. It sorts before them, and chains are locked in order. */
export const anchorChain = 'anchors'

/** The hash before the first entry. */
export const firstHash = ''

/**
 * Keyed with the secret of the installation: with access to the database alone, a chain can be neither changed nor
 * replaced.
 */
export function hashEntry(vault: Vault, entry: Omit<AuditEntry, 'hash'>): string {
  const fields = [
    entry.chain_id,
    entry.seq,
    entry.previous_hash,
    entry.id,
    entry.created_at,
    entry.action,
    entry.outcome,
    entry.actor_type,
    entry.actor_id,
    entry.actor_name,
    entry.ip,
    entry.user_agent,
    entry.request_id,
    entry.workspace_id,
    entry.target_type,
    entry.target_id,
    entry.target_name,
    entry.changes,
  ]
  return vault.sign(`audit/entry:${JSON.stringify(fields)}`)
}

/** Proves the last entry: removing entries from the end would need a signature of the one before. */
export function signHead(vault: Vault, head: { chain_id: string; seq: number; hash: string }): string {
  return vault.sign(`audit/head:${JSON.stringify([head.chain_id, head.seq, head.hash])}`)
}

/** Proves which entries retention has deleted: all before the first. */
export function signStart(
  vault: Vault,
  start: { chain_id: string; first_seq: number; first_hash: string },
): string {
  return vault.sign(`audit/start:${JSON.stringify([start.chain_id, start.first_seq, start.first_hash])}`)
}
