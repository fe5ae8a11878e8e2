import type { Logger } from 'pino'
import type { AdmitOperation, LedgerOperation, OperationResult, Settlement } from './engine.ts'
import type { Rejection } from './ledger-state.ts'
import { createRelease } from './settlement.ts'

/** An operation that a caller waits for. */
export interface QueuedOperation {
  op: LedgerOperation
  /** Time at which it was submitted. */
  enqueuedAt: number
  /** Time until which the caller waits. */
  deadline: number
  /** It is run without the database. */
  isLocal?: boolean
  /** Result of a settlement that is not on disk yet. */
  result?: OperationResult
  resolve: (result: OperationResult) => void
  reject: (error: unknown) => void
}

/** Marks an operation that may have been committed before. */
export function markRetry(op: LedgerOperation): LedgerOperation {
  return op.op === 'note' ? op : { ...op, isRetry: true }
}

export function hasExtraStatements(op: LedgerOperation): boolean {
  return op.op === 'settle' && op.extraStatements.length > 0
}

export function withoutExtraStatements(op: LedgerOperation): LedgerOperation {
  return op.op === 'settle' ? { ...op, extraStatements: [] } : op
}

/** The holds that an operation places. */
export function listAdmissions(op: LedgerOperation): readonly AdmitOperation[] {
  if (op.op === 'exchange') return op.admits
  return op.op === 'admit' ? [op] : []
}

/** Releases a hold that may have been placed. */
export function createQueuedRelease({ request, organizationId }: AdmitOperation): QueuedOperation {
  const ignore = () => undefined
  return {
    op: { ...createRelease(request.id, organizationId), isRetry: true },
    enqueuedAt: performance.now(),
    deadline: Number.POSITIVE_INFINITY,
    resolve: ignore,
    reject: ignore,
  }
}

/** A hold that was settled before was admitted. */
export function toRejection(result: OperationResult): Rejection | null {
  return typeof result === 'string' ? null : result
}

export function logUnusual(log: Logger, { id, isRetry }: Settlement, result: OperationResult): void {
  if (result === 'corrected') log.warn({ id }, 'a late charge corrected what another node had settled')
  // A retry expects to find its settlement done.
  if (result === 'closed before' && !isRetry) log.warn({ id }, 'the hold of a charge was already settled')
}
