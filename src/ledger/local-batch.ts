import type { OperationResult } from './engine.ts'
import type { JournalLine } from './journal-line.ts'
import type { Lease } from './lease.ts'

/** What leases decide of a batch. */
export class LocalBatch {
  /** Undefined: the database has to decide. */
  readonly results: (OperationResult | undefined)[] = []
  /** Null: there can be no journal now. */
  readonly lines: JournalLine[] | null
  /** The leases of its settlements. */
  readonly touched = new Set<Lease>()
  isShared = false
  isAdmitted = false
  /** It accepts a request of which the journal may know nothing. */
  needsRows = false
  /** When settlements are in the database that were carried out before. */
  readonly repeated: Promise<void>[] = []

  constructor(lines: JournalLine[] | null) {
    this.lines = lines
  }

  get isComplete(): boolean {
    return !this.results.includes(undefined)
  }
}
