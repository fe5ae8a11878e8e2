import type { EncodedHold, LeaseOperation, LedgerOperation } from './engine.ts'
import type { LeaseOutcome } from './postgres-transaction.ts'

/** The journal of a node, by which others see that its leases are in use. */
export interface JournalIdentity {
  id: string
  nodeId: string
}

/** A journal that another node may take over. */
export interface OpenJournal extends JournalIdentity {
  /** Changes whenever the node shows that it is alive. */
  renewedAt: string
}

/** Requests that were in progress when their node ended. */
export interface InterruptedRequests {
  /** Holds that may have no rows, and the journals that have them. */
  holds: readonly { journal: string; hold: EncodedHold }[]
  /** The progress of replies, by the id of their request. */
  checkpoints: ReadonlyMap<string, string>
}

/** Another node has taken over the leases: what this one decided since may contradict what was decided for it. */
export class JournalTakenError extends Error {
  constructor() {
    super('the leases of this node were taken over')
  }
}

/** The transactions of nodes that share meters. Each is carried out whole or not at all. */
export interface LeaseDatabase {
  /** Runs operations that no lease covers. */
  run(ops: readonly LedgerOperation[], now: string): Promise<LeaseOutcome>
  /**
   * The same, and grants leases. `isNew`: the journal has none yet. Throws `JournalTakenError`, and then nothing was
   * done.
   */
  grant(
    journal: JournalIdentity & { isNew: boolean },
    ops: readonly (LedgerOperation | LeaseOperation)[],
    now: string,
  ): Promise<LeaseOutcome>
  /**
   * Writes a segment of the journal; null if it was written before. Without a segment, only what leases need. Throws
   * `JournalTakenError` like `grant`.
   */
  write(
    journal: JournalIdentity,
    segment: number | null,
    ops: readonly (LedgerOperation | LeaseOperation)[],
    now: string,
  ): Promise<LeaseOutcome | null>
  /** Ends a journal that has nothing to recover, with all leases of its node. */
  forget(journal: JournalIdentity, now: string): Promise<void>
  /** Forbids leases on meters for a time; returns the meters that still have any. */
  recall(subjects: readonly string[], ms: number): Promise<ReadonlySet<string>>
  /** The meters without leases. */
  readRecalled(): Promise<ReadonlySet<string>>
  /** The journals of other nodes that are not taken over. */
  listOpenJournals(nodeId: string): Promise<OpenJournal[]>
  /**
   * Ends the leases of a silent node, but for what it may have acknowledged and not written, until `expiresAt`. False if
   * it is not silent any more.
   */
  takeOver(journal: OpenJournal, expiresAt: string, now: string): Promise<boolean>
  /** Releases what was reserved for takeovers until now, and forgets what is over. */
  releaseExpired(now: string): Promise<void>
  /** The last segment in the database of each of these journals. */
  readFlushed(ids: readonly string[]): Promise<ReadonlyMap<string, number>>
  /**
   * Ends journals of processes that have ended, with their leases. Requests that were in progress get rows, by which
   * recovery finds them; without an amount if the leases that covered them were taken over. Returns the nodes that these
   * processes were.
   */
  retire(ids: readonly string[], interrupted: InterruptedRequests, now: string): Promise<string[]>
  /** Gives requests in progress rows without an amount: the leases that covered them were taken over. */
  placeInterrupted(interrupted: InterruptedRequests, now: string): Promise<void>
  close(): Promise<void>
}
