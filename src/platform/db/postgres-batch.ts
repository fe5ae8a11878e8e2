import type { ReservedSQL, SQL } from 'bun'
import { withDeadline } from '../time/deadline.ts'
import { type Batch, type BatchConnection, type Row, type Statement, toBinding } from './batch.ts'
import { openPool } from './postgres-pool.ts'

/** A transaction that takes longer is aborted: whether or not it was committed, repeating it is safe. */
const transactionTimeoutMs = 10_000
const connectTimeoutSeconds = 5
const closeTimeoutSeconds = 2

/**
 * The server ends a transaction whose client says nothing for this time, and so its locks: the process may be frozen, or
 * cut off without the server knowing. Less than the time that others wait for the locks.
 */
const maxSilenceMs = 3000
const begin = `begin; set local idle_in_transaction_session_timeout = ${maxSilenceMs}`
/** The server writes the end of the transaction to disk a moment later, after everything that was committed before. */
const beginRelaxed = `${begin}; set local synchronous_commit = off`

export class PostgresBatchConnection implements BatchConnection {
  readonly #url: string
  readonly #isRelaxed: () => boolean
  #pool: SQL

  /** `isRelaxed`: a transaction ends before it survives a crash of the database server. */
  constructor(url: string, isRelaxed: () => boolean = () => false) {
    this.#url = url
    this.#isRelaxed = isRelaxed
    this.#pool = this.#open()
  }

  async transact<T>(work: (batch: Batch) => Promise<T>): Promise<T> {
    const pool = this.#pool
    try {
      return await withDeadline(transactionTimeoutMs, this.#run(pool, work), transactionTimeoutError)
    } catch (error) {
      // The state of an unresponsive connection is unknown.
      if (error instanceof TransactionTimeoutError && pool === this.#pool) {
        this.#pool = this.#open()
        void pool.close({ timeout: 0 }).catch(() => undefined)
      }
      throw error
    }
  }

  #run<T>(pool: SQL, work: (batch: Batch) => Promise<T>): Promise<T> {
    return runTransaction(pool, this.#isRelaxed() ? beginRelaxed : begin, work)
  }

  async close(): Promise<void> {
    await this.#pool.close({ timeout: closeTimeoutSeconds }).catch(() => undefined)
  }

  #open(): SQL {
    return openPool(this.#url, { max: 1, connectionTimeout: connectTimeoutSeconds })
  }
}

async function runTransaction<T>(pool: SQL, start: string, work: (batch: Batch) => Promise<T>): Promise<T> {
  const connection = await pool.reserve()
  try {
    await connection.unsafe(start)
    const result = await work(new PostgresBatch(connection))
    await connection.unsafe('commit')
    return result
  } catch (error) {
    // A lost connection has nothing to roll back.
    await connection.unsafe('rollback').catch(() => undefined)
    throw error
  } finally {
    connection.release()
  }
}

class TransactionTimeoutError extends Error {}

function transactionTimeoutError(): Error {
  return new TransactionTimeoutError('the database does not respond')
}

class PostgresBatch implements Batch {
  readonly #connection: ReservedSQL

  constructor(connection: ReservedSQL) {
    this.#connection = connection
  }

  async rows(statements: readonly Statement[]): Promise<Row[]> {
    const results = await this.#sendAll(statements)
    return results.flatMap((rows) => [...rows])
  }

  async run(statements: readonly Statement[]): Promise<void> {
    await this.#sendAll(statements)
  }

  /** Pipelined, without waiting in between. */
  #sendAll(statements: readonly Statement[]): Promise<Row[][]> {
    return Promise.all(
      statements.map(({ sql, values }) => this.#connection.unsafe(sql, values.map(toBinding))),
    )
  }
}
