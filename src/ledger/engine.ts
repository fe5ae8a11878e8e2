import type { Statement } from '../db/batch.ts'
import type { Amounts, Book, Hold, Refusal, Wish } from './book.ts'
import type { WrittenDraft } from './draft.ts'

/** Asks for a hold. */
export interface Admit {
  op: 'admit'
  wish: Wish
  organizationId: string
  owner: string
  expiresAt: string
  /** What is known of the generation before it begins. */
  draft: WrittenDraft
  /** It was asked for before, and nobody knows whether it was done. */
  again?: boolean
}

/** Closes a hold. */
export interface Settle {
  op: 'settle'
  id: string
  organizationId: string
  isByok: boolean
  spent: Amounts
  /** As `generationValues` gives it; null when no provider was reached. */
  generation: readonly unknown[] | null
  /** Where it counts, should the hold be gone; null for whoever settles in the place of another. */
  countsIn: Pick<Hold, 'subjects' | 'day'> | null
  /** Written in the same transaction. */
  companions: readonly Statement[]
  again?: boolean
}

/** Remembers how far a reply has come. */
export interface Note {
  op: 'note'
  id: string
  checkpoint: string
}

export type Op = Admit | Settle | Note

/**
 * Null for everything that was done as asked. Otherwise why it was refused, or that the hold was closed before: by
 * this very settlement, or by another node's, which it corrected.
 */
export type Result = Refusal | 'closed before' | 'corrected' | null

export interface Ran {
  results: Result[]
  /** When the settlements among them outlive a power cut; null when they do already. */
  lasting: Promise<void> | null
}

/**
 * Thrown before anything of a batch is done: these operations need rows that cannot be read now. The rest of the
 * batch can be carried out without them.
 */
export class UnreadableError extends Error {
  readonly ops: ReadonlySet<Op>

  constructor(ops: readonly Op[], cause: unknown) {
    super(`the database cannot be read: ${String(cause)}`, { cause })
    this.ops = new Set(ops)
  }
}

/** Carries out batches, one at a time: all of each, or nothing that anybody is told of. */
export interface Engine {
  /** Since when it can take no more, beyond what it was given; null while it can. */
  readonly fullSince: number | null
  /** Takes up what an earlier process left; `deliver` carries out settlements that it could not. */
  open(deliver: (settlements: Settle[]) => Promise<void>): Promise<void>
  run(ops: readonly Op[], now: string): Promise<Ran>
  /** Resolves when settlements that cannot be carried out now outlive this process. */
  keep(settlements: readonly Settle[]): Promise<void>
  /** A settlement that never will be carried out. */
  drop(settlement: Settle): void
  /** Until everything that was run is in the database; null when it is. */
  caughtUp(): Promise<void> | null
  close(): Promise<void>
}

export function wishesOf(op: Op): Wish[] {
  return op.op === 'admit' ? [op.wish] : []
}

/** The holds that must be known before an operation. */
export function holdsOf(op: Op): string[] {
  if (op.op === 'settle') return [op.id]
  return op.op === 'admit' && op.again ? [op.wish.id] : []
}

/** The meters that must be known before operations, once the holds are. */
export function subjectsOf(book: Book, ops: readonly Op[]): string[] {
  const lists = ops.map((op) => {
    if (op.op === 'admit') return op.wish.subjects
    const countsIn = op.op === 'settle' ? op.countsIn?.subjects : undefined
    return book.holds.get(op.id)?.subjects ?? countsIn ?? []
  })
  return [...new Set(lists.flat())]
}

/** A row: id, owner, subjects, amount, BYOK amount, day, expiry, draft. */
export type HoldValues = [string, string, string, string, string, string, string, WrittenDraft]

export function holdValues({ wish, owner, expiresAt, draft }: Admit): HoldValues {
  const { id, subjects, day, amount, byok } = wish
  return [id, owner, subjects.join(' '), String(amount), String(byok), day, expiresAt, draft]
}
