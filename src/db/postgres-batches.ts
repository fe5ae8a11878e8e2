import { type ReservedSQL, SQL } from 'bun'
import { withDeadline } from '../lib/deadline.ts'
import { type Batch, type Batches, binding, type Row, type Statement } from './batch.ts'

/** A transaction that takes longer is given up: whatever became of it, asking again is safe. */
const transactionMs = 10_000
const connectSeconds = 5
const closeSeconds = 2

export class PostgresBatches implements Batches {
  readonly #url: string
  #pool: SQL

  constructor(url: string) {
    this.#url = url
    this.#pool = this.#open()
  }

  async transact<T>(work: (batch: Batch) => Promise<T>): Promise<T> {
    const pool = this.#pool
    try {
      return await withDeadline(transactionMs, within(pool, work), noAnswer)
    } catch (error) {
      // Nobody knows what state a silent connection is in.
      if (error instanceof NoAnswerError && pool === this.#pool) {
        this.#pool = this.#open()
        void pool.close({ timeout: 0 }).catch(() => undefined)
      }
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#pool.close({ timeout: closeSeconds }).catch(() => undefined)
  }

  #open(): SQL {
    return new SQL(this.#url, { max: 1, connectionTimeout: connectSeconds, bigint: true })
  }
}

async function within<T>(pool: SQL, work: (batch: Batch) => Promise<T>): Promise<T> {
  const connection = await pool.reserve()
  try {
    await connection.unsafe('begin')
    const result = await work(new PostgresBatch(connection))
    await connection.unsafe('commit')
    return result
  } catch (error) {
    // A connection that is gone has nothing left to roll back.
    await connection.unsafe('rollback').catch(() => undefined)
    throw error
  } finally {
    connection.release()
  }
}

class NoAnswerError extends Error {}

function noAnswer(): Error {
  return new NoAnswerError('the database gives no answer')
}

class PostgresBatch implements Batch {
  readonly #connection: ReservedSQL

  constructor(connection: ReservedSQL) {
    this.#connection = connection
  }

  async rows(statements: readonly Statement[]): Promise<Row[]> {
    const found = await this.#sendAll(statements)
    return found.flatMap((rows) => [...rows])
  }

  async run(statements: readonly Statement[]): Promise<void> {
    await this.#sendAll(statements)
  }

  /** One behind the other, without waiting in between. */
  #sendAll(statements: readonly Statement[]): Promise<Row[][]> {
    return Promise.all(statements.map(({ sql, values }) => this.#connection.unsafe(sql, values.map(binding))))
  }
}
