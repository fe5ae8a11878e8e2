import type { BatchConnection } from '../platform/db/batch.ts'
import type { BatchOutcome, LedgerEngine, LedgerOperation, Settlement } from './engine.ts'
import { PostgresTransaction } from './postgres-transaction.ts'
import type { Spool } from './spool.ts'

/**
 * Engine for a database that other nodes write to as well: every batch is a transaction that reads and locks the rows
 * it touches. `LeasedEngine` decides most operations before they reach it.
 */
export class PostgresEngine implements LedgerEngine {
  readonly fullSince = null
  readonly unflushedBytes = null
  readonly #batches: BatchConnection
  readonly #spool: Spool

  constructor(batches: BatchConnection, spool: Spool) {
    this.#batches = batches
    this.#spool = spool
  }

  async open(deliver: (settlements: Settlement[]) => Promise<void>): Promise<void> {
    await deliver(this.#spool.readLeftovers())
  }

  /** Other nodes hold amounts in the same meters: only the database can decide. */
  admitNow(): undefined {
    return undefined
  }

  async run(ops: readonly LedgerOperation[], now: string): Promise<BatchOutcome> {
    const { results } = await this.#batches.transact((batch) => new PostgresTransaction(batch, now).run(ops))
    this.#spool.markDelivered(ops.filter((op) => op.op === 'settle'))
    return { results, durable: null }
  }

  spool(settlements: readonly Settlement[]): Promise<void> {
    return this.#spool.write(settlements)
  }

  drop(settlement: Settlement): void {
    this.#spool.markRejected(settlement)
  }

  flush(): null {
    return null
  }

  close(): Promise<void> {
    return this.#batches.close()
  }
}
