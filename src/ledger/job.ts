import type { Op, Result } from './engine.ts'

/** An operation that somebody waits for. */
export interface Job {
  op: Op
  /** When it was asked for. */
  at: number
  /** Until when it is waited for. */
  until: number
  done: (result: Result) => void
  failed: (error: unknown) => void
}

/** Nobody knows whether it was done. */
export function again(op: Op): Op {
  return op.op === 'note' ? op : { ...op, again: true }
}

export function hasCompanions(op: Op): boolean {
  return op.op === 'settle' && op.companions.length > 0
}
