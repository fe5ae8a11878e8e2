import { CompiledQuery } from 'kysely'
import type { Statement } from './batch.ts'
import type { Db } from './db.ts'

interface Waiting {
  statement: Statement
  done: PromiseWithResolvers<void>
}

/** Statements that wait for the transaction before them. */
const maxWaiting = 10_000

/** Commits statements of concurrent requests together: what waits when a transaction ends is the next one. */
export class StatementWriter {
  readonly #db: Db
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(db: Db) {
    this.#db = db
  }

  /** Resolves when the statement is committed. */
  write(statement: Statement): Promise<void> {
    if (this.#waiting.length >= maxWaiting)
      return Promise.reject(new Error('too many statements wait for the database'))
    const done = Promise.withResolvers<void>()
    this.#waiting.push({ statement, done })
    if (!this.#isWriting) void this.#writeAll()
    return done.promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      try {
        await this.#commit(batch.map(({ statement }) => statement))
        for (const { done } of batch) done.resolve()
      } catch (error) {
        for (const { done } of batch) done.reject(error)
      }
    }
    this.#isWriting = false
  }

  #commit(statements: readonly Statement[]): Promise<void> {
    return this.#db.transaction().execute(async (tx) => {
      for (const { sql, values } of statements) await tx.executeQuery(CompiledQuery.raw(sql, [...values]))
    })
  }
}
