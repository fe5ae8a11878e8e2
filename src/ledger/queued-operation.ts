import type { AdmitOperation, LedgerOperation, OperationResult } from './engine.ts'
import { createRelease } from './settlement.ts'

/** An operation that somebody waits for. */
export interface QueuedOperation {
  op: LedgerOperation
  /** When it was asked for. */
  enqueuedAt: number
  /** Until when it is waited for. */
  deadline: number
  resolve: (result: OperationResult) => void
  reject: (error: unknown) => void
}

/** Nobody knows whether it was done. */
export function markRetry(op: LedgerOperation): LedgerOperation {
  return op.op === 'note' ? op : { ...op, isRetry: true }
}

export function hasExtraStatements(op: LedgerOperation): boolean {
  return op.op === 'settle' && op.extraStatements.length > 0
}

export function withoutExtraStatements(op: LedgerOperation): LedgerOperation {
  return op.op === 'settle' ? { ...op, extraStatements: [] } : op
}

/** Takes back a hold that may have been placed. */
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
