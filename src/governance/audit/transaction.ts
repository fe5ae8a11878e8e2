import type { Vault } from '../../platform/crypto/crypto.ts'
import { newUuid } from '../../platform/crypto/ids.ts'
import type { Db } from '../../platform/db/db.ts'
import { type Clock, isoNow } from '../../platform/time/clock.ts'
import { hashEntry, installationChain } from './chain.ts'
import { encodeChanges } from './changes.ts'
import type { AuditEntry, AuditEvent, AuditOrigin } from './entry.ts'
import { insertEntries, lockChain, updateChain } from './store.ts'

/** The parts of the gateway that an audited transaction uses. */
export interface AuditDeps {
  db: Db
  clock: Clock
  vault: Vault
}

/** Adds an event to the audit log of a transaction. */
export type RecordEvent = (event: AuditEvent) => void

/**
 * Runs a transaction and writes its events with it. They are written last: the chain of an organization is locked
 * from then until the commit, and no other lock may be taken after it.
 */
export async function transactAs<T>(
  deps: AuditDeps,
  origin: AuditOrigin,
  work: (tx: Db, record: RecordEvent) => Promise<T>,
): Promise<T> {
  return deps.db.transaction().execute(async (tx) => {
    const events: AuditEvent[] = []
    const result = await work(tx, (event) => events.push(event))
    await appendEvents(tx, deps, origin, events)
    return result
  })
}

/** Writes events at the end of a transaction. */
export async function appendEvents(
  tx: Db,
  { clock, vault }: Omit<AuditDeps, 'db'>,
  origin: AuditOrigin,
  events: readonly AuditEvent[],
): Promise<void> {
  const chains = Map.groupBy(
    events,
    (event) => event.organizationId ?? origin.organizationId ?? installationChain,
  )
  // In a fixed order, so that two transactions cannot wait for each other.
  for (const chainId of [...chains.keys()].sort()) {
    let { seq, hash } = await lockChain(tx, chainId)
    const entries: AuditEntry[] = []
    for (const event of chains.get(chainId) ?? []) {
      const entry = { ...toEntry(clock, origin, event), chain_id: chainId, seq: ++seq, previous_hash: hash }
      hash = hashEntry(vault, entry)
      entries.push({ ...entry, hash })
    }
    await insertEntries(tx, entries)
    await updateChain(tx, vault, { chain_id: chainId, seq, hash })
  }
}

function toEntry(clock: Clock, { actor, ip, userAgent, requestId }: AuditOrigin, event: AuditEvent) {
  return {
    id: newUuid(),
    created_at: isoNow(clock),
    action: event.action,
    outcome: event.outcome ?? ('success' as const),
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    ip,
    user_agent: userAgent,
    request_id: requestId,
    workspace_id: event.workspaceId ?? null,
    target_type: event.target.type,
    target_id: event.target.id,
    target_name: event.target.name ?? null,
    changes: encodeChanges(event),
  }
}
