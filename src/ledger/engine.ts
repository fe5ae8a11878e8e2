import type { Statement } from '../platform/db/batch.ts'
import type { Amounts } from './amounts.ts'
import { type Draft, type EncodedDraft, encodeDraft } from './draft.ts'
import type { GenerationRecord } from './generation.ts'
import type { Hold, HoldRequest, LeaseRequest, LedgerState, Limit, Rejection } from './ledger-state.ts'

/**
 * The owner of the holds of jobs. A job outlives every node, so its hold is never an orphan and never expires: the job
 * settles it.
 */
export const jobOwner = 'jobs'

/** Requests a hold. */
export interface AdmitOperation {
  op: 'admit'
  request: HoldRequest
  organizationId: string
  /** The node that settles it, or `jobOwner`. */
  owner: string
  expiresAt: string
  /** Facts of the generation that are known at admission. */
  draft: Draft
  /** Whether it was submitted before, and may have been committed. */
  isRetry?: boolean
}

/** Replaces holds of a request by others at once, within its limits; or changes nothing. */
export interface ExchangeOperation {
  op: 'exchange'
  /** Ids of the holds to release; unknown ids are ignored. */
  releases: readonly string[]
  /** Holds to place, at least one. The limits of the first apply to their sum. */
  admits: readonly AdmitOperation[]
  isRetry?: boolean
}

/** Settles a hold. */
export interface Settlement {
  op: 'settle'
  id: string
  organizationId: string
  isByok: boolean
  spent: Amounts
  /** Null when no provider was reached. */
  generation: GenerationRecord | null
  /** The meters to charge when the hold is gone; null when settling for another node. */
  meteredIn: Pick<Hold, 'subjects' | 'day'> | null
  /** Meters of the hold that do not count what was spent. */
  uncharged?: readonly string[]
  /** Written in the same transaction. */
  extraStatements: readonly Statement[]
  /** Its client may refer to it on another node: it is in the database before it is acknowledged. */
  isShared?: boolean
  /** It was acknowledged by a process that has ended, and its hold may never have reached the database. */
  isLeftover?: boolean
  isRetry?: boolean
}

/** Stores the progress of a reply. */
export interface CheckpointOperation {
  op: 'note'
  id: string
  checkpoint: string
}

/** Reserves an amount that a node may hold without the database. */
export interface GrantLeaseOperation extends LeaseRequest {
  op: 'grant lease'
  /** The node. */
  owner: string
}

/** Writes what a node did within its lease. */
export interface UseLeaseOperation {
  op: 'use lease'
  id: string
  subjects: readonly string[]
  day: string
  limits: readonly Limit[]
  /** Requests that are still in progress. */
  admits: readonly AdmitOperation[]
  settlements: readonly Settlement[]
  /** The settlements whose holds were written before. */
  writtenHolds: ReadonlySet<string>
  returned: Amounts
  /** Nothing of the lease is in use. */
  isLast: boolean
  /** Its settlements may have been committed. */
  isRetry?: boolean
}

export type LeaseOperation = GrantLeaseOperation | UseLeaseOperation

export type LedgerOperation = AdmitOperation | ExchangeOperation | Settlement | CheckpointOperation

/**
 * Null when the operation was carried out. Otherwise why it was rejected, or that its hold was settled before:
 * by the same settlement, or by that of another node, which it corrected. `recalling`: what leases reserve is being
 * returned, and it should be run again a moment later.
 */
export type OperationResult = Rejection | 'closed before' | 'corrected' | 'recalling' | null

export interface BatchOutcome {
  results: OperationResult[]
  /** Resolves when the settlements of the batch survive a power cut; null when they already do. */
  durable: Promise<void> | null
}

/**
 * Thrown before any operation of a batch takes effect: these need rows that cannot be read now. The rest of
 * the batch can run without them.
 */
export class UnreadableRowsError extends Error {
  readonly ops: ReadonlySet<LedgerOperation>

  constructor(ops: readonly LedgerOperation[], cause: unknown) {
    super(`the database cannot be read: ${String(cause)}`, { cause })
    this.ops = new Set(ops)
  }
}

/** Runs batches, one at a time: all of a batch, or nothing of it that was acknowledged. */
export interface LedgerEngine {
  /** Start of the time in which it accepts no new work; null while it accepts work. */
  readonly fullSince: number | null
  /** Bytes of what was run and is not in the database yet; null without a journal. */
  readonly unflushedBytes: number | null
  /** The leases of this node, and what they reserve beyond its holds. */
  readonly leases?: { count: number; free: bigint }
  /** The nodes that earlier processes with the same data directory were. */
  readonly endedNodes?: readonly string[]
  /** Recovers what an earlier process left; `deliver` runs the settlements that process could not commit. */
  open(deliver: (settlements: Settlement[]) => Promise<void>): Promise<void>
  /** Decides at once if everything is in memory, and otherwise not: then the operation has to be run. */
  admitNow(op: AdmitOperation): OperationResult | undefined
  /** Whether the operation needs nothing of the database: it is neither delayed nor stopped by it. */
  isLocal?(op: LedgerOperation): boolean
  /** Runs a batch; returns without a promise if everything is in memory. */
  run(ops: readonly LedgerOperation[], now: string): BatchOutcome | Promise<BatchOutcome>
  /** Takes over what dead nodes have reserved; returns how many nodes that were. */
  takeOverLeases?(): Promise<number>
  /** Resolves when settlements that cannot be committed now survive the end of this process. */
  spool(settlements: readonly Settlement[]): Promise<void>
  /** Discards a settlement that can never be committed. */
  drop(settlement: Settlement): void
  /** Resolves when everything that was run is in the database; null when it already is. */
  flush(): Promise<void> | null
  close(): Promise<void>
}

export function holdRequestsOf(op: LedgerOperation): HoldRequest[] {
  if (op.op === 'exchange') return op.admits.map(({ request }) => request)
  return op.op === 'admit' ? [op.request] : []
}

/** The holds that must be loaded before an operation. */
export function holdIdsOf(op: LedgerOperation | LeaseOperation): string[] {
  if (op.op === 'grant lease') return [op.id]
  if (op.op === 'use lease') return [op.id, ...op.writtenHolds]
  if (op.op === 'settle') return [op.id]
  if (op.op === 'exchange')
    return op.isRetry ? [...op.releases, ...op.admits.map(({ request }) => request.id)] : [...op.releases]
  return op.op === 'admit' && op.isRetry ? [op.request.id] : []
}

/** The meters that must be loaded before operations, once their holds are. */
export function collectSubjects(
  state: LedgerState,
  ops: readonly (LedgerOperation | LeaseOperation)[],
): string[] {
  const lists = ops.map((op) => {
    if (op.op === 'grant lease' || op.op === 'use lease') return op.subjects
    if (op.op === 'admit') return op.request.subjects
    if (op.op === 'exchange') {
      const released = op.releases.flatMap((id) => state.holds.get(id)?.subjects ?? [])
      return [...released, ...op.admits.flatMap(({ request }) => request.subjects)]
    }
    const meteredIn = op.op === 'settle' ? op.meteredIn?.subjects : undefined
    return state.holds.get(op.id)?.subjects ?? meteredIn ?? []
  })
  return [...new Set(lists.flat())]
}

/** A row: id, owner, subjects, amount, BYOK amount, day, expiry, draft. */
export type EncodedHold = [string, string, string, string, string, string, string, EncodedDraft]

export function encodeHold({ request, owner, expiresAt, draft }: AdmitOperation): EncodedHold {
  const { id, subjects, day, amount, byok } = request
  return [id, owner, subjects.join(' '), String(amount), String(byok), day, expiresAt, encodeDraft(draft)]
}
