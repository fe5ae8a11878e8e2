import type { Statement } from '../db/batch.ts'
import type { EncodedDraft } from './draft.ts'
import type { Amounts, Hold, HoldRequest, LedgerState, Rejection } from './ledger-state.ts'

/** Asks for a hold. */
export interface AdmitOperation {
  op: 'admit'
  request: HoldRequest
  organizationId: string
  owner: string
  expiresAt: string
  /** What is known of the generation before it begins. */
  draft: EncodedDraft
  /** It was asked for before, and nobody knows whether it was done. */
  isRetry?: boolean
}

/** Closes a hold. */
export interface Settlement {
  op: 'settle'
  id: string
  organizationId: string
  isByok: boolean
  spent: Amounts
  /** As `generationValues` gives it; null when no provider was reached. */
  generation: readonly unknown[] | null
  /** Where it counts, should the hold be gone; null for whoever settles in the place of another. */
  meteredIn: Pick<Hold, 'subjects' | 'day'> | null
  /** Written in the same transaction. */
  extraStatements: readonly Statement[]
  isRetry?: boolean
}

/** Remembers how far a reply has come. */
export interface CheckpointOperation {
  op: 'note'
  id: string
  checkpoint: string
}

export type LedgerOperation = AdmitOperation | Settlement | CheckpointOperation

/**
 * Null for everything that was done as asked. Otherwise why it was refused, or that the hold was closed before: by
 * this very settlement, or by another node's, which it corrected.
 */
export type OperationResult = Rejection | 'closed before' | 'corrected' | null

export interface BatchOutcome {
  results: OperationResult[]
  /** When the settlements among them outlive a power cut; null when they do already. */
  durable: Promise<void> | null
}

/**
 * Thrown before anything of a batch is done: these operations need rows that cannot be read now. The rest of the
 * batch can be carried out without them.
 */
export class UnreadableRowsError extends Error {
  readonly ops: ReadonlySet<LedgerOperation>

  constructor(ops: readonly LedgerOperation[], cause: unknown) {
    super(`the database cannot be read: ${String(cause)}`, { cause })
    this.ops = new Set(ops)
  }
}

/** Carries out batches, one at a time: all of each, or nothing that anybody is told of. */
export interface LedgerEngine {
  /** Since when it can take no more, beyond what it was given; null while it can. */
  readonly fullSince: number | null
  /** Takes up what an earlier process left; `deliver` carries out settlements that it could not. */
  open(deliver: (settlements: Settlement[]) => Promise<void>): Promise<void>
  run(ops: readonly LedgerOperation[], now: string): Promise<BatchOutcome>
  /** Resolves when settlements that cannot be carried out now outlive this process. */
  spool(settlements: readonly Settlement[]): Promise<void>
  /** A settlement that never will be carried out. */
  drop(settlement: Settlement): void
  /** Until everything that was run is in the database; null when it is. */
  flush(): Promise<void> | null
  close(): Promise<void>
}

export function holdRequestsOf(op: LedgerOperation): HoldRequest[] {
  return op.op === 'admit' ? [op.request] : []
}

/** The holds that must be known before an operation. */
export function holdIdsOf(op: LedgerOperation): string[] {
  if (op.op === 'settle') return [op.id]
  return op.op === 'admit' && op.isRetry ? [op.request.id] : []
}

/** The meters that must be known before operations, once the holds are. */
export function collectSubjects(state: LedgerState, ops: readonly LedgerOperation[]): string[] {
  const lists = ops.map((op) => {
    if (op.op === 'admit') return op.request.subjects
    const meteredIn = op.op === 'settle' ? op.meteredIn?.subjects : undefined
    return state.holds.get(op.id)?.subjects ?? meteredIn ?? []
  })
  return [...new Set(lists.flat())]
}

/** A row: id, owner, subjects, amount, BYOK amount, day, expiry, draft. */
export type EncodedHold = [string, string, string, string, string, string, string, EncodedDraft]

export function encodeHold({ request, owner, expiresAt, draft }: AdmitOperation): EncodedHold {
  const { id, subjects, day, amount, byok } = request
  return [id, owner, subjects.join(' '), String(amount), String(byok), day, expiresAt, draft]
}
