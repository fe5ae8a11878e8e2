import {
  type AdmitOperation,
  type GrantLeaseOperation,
  jobOwner,
  type LedgerOperation,
  type OperationResult,
} from './engine.ts'
import type { LeaseBook } from './lease-book.ts'
import { JournalTakenError, type LeaseDatabase } from './lease-database.ts'
import type { LeaseRounds } from './lease-rounds.ts'
import type { LeaseTime } from './lease-time.ts'
import type { LeaseJournal } from './node-journal.ts'
import type { LeaseState } from './postgres-transaction.ts'

interface LeaseGrantsOptions {
  database: LeaseDatabase
  book: LeaseBook
  journal: LeaseJournal
  rounds: LeaseRounds
  nodeId: string
  time: LeaseTime
}

/** Runs what no lease covers in the database, and leases what the next requests of the same keys need. */
export class LeaseGrants {
  readonly #options: LeaseGrantsOptions
  /** The journal that the database knows. */
  #registered = ''
  isClosed = false

  constructor(options: LeaseGrantsOptions) {
    this.#options = options
  }

  async run(ops: readonly LedgerOperation[], now: string): Promise<OperationResult[]> {
    const { database, book, journal, time } = this.#options
    const admits = ops.filter((op) => op.op === 'admit').filter(isLeasable)
    const grants = this.isClosed ? [] : book.plan(admits, journal.id, time.now())
    return (await this.#grant(ops, grants, admits, now)) ?? (await database.run(ops, now)).results
  }

  /** Null if there is nothing to lease, or this node has lost its leases. */
  async #grant(
    ops: readonly LedgerOperation[],
    grants: readonly GrantLeaseOperation[],
    admits: readonly AdmitOperation[],
    now: string,
  ): Promise<OperationResult[] | null> {
    if (grants.length === 0) return null
    const { database, journal, rounds, nodeId, time } = this.#options
    const { id } = journal
    const isNew = this.#registered !== id
    const startedAt = time.now()
    try {
      const { results, leases } = await database.grant({ id, nodeId, isNew }, [...ops, ...grants], now)
      if (id === journal.id) {
        this.#registered = id
        if (isNew) rounds.extendTerm(startedAt)
        this.#add(grants, admits, leases)
      } else rounds.discard(grants)
      return results.slice(0, ops.length)
    } catch (error) {
      if (!(error instanceof JournalTakenError)) {
        rounds.discard(grants)
        throw error
      }
      if (id === journal.id) await rounds.abandon()
      return null
    }
  }

  #add(
    grants: readonly GrantLeaseOperation[],
    admits: readonly AdmitOperation[],
    states: ReadonlyMap<string, LeaseState>,
  ): void {
    const { book, time } = this.#options
    for (const grant of grants) {
      const state = states.get(grant.id)
      const op = admits.find(({ request }) => request.subjects === grant.subjects)
      if (state && op) book.add(grant, op, state, time.now())
      else book.markTight(grant, time.now())
    }
  }
}

/** Whether leases can cover it: neither the hold of a job, nor one that counts requests or may be charged in part. */
export function isLeasable({ request, owner }: AdmitOperation): boolean {
  return owner !== jobOwner && request.free === null && !request.isConditional && !request.setAside?.size
}
