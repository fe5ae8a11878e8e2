import type { ReservedSQL, SQL } from 'bun'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import { withDeadline } from '../time/deadline.ts'
import type { ChangeCounter } from './change-counter.ts'
import { openPool } from './postgres-pool.ts'
import type { ReadBarrier } from './read-barrier.ts'
import { QueryTimeoutError } from './unavailable.ts'

const defaultPoolSize = 10
/** A server that does not respond within this time counts as unavailable: requests must end. */
const defaultQueryTimeoutMs = 15_000
const connectTimeoutSeconds = 10
/** A pool that cannot be closed within this time is left to the end of the process. */
const closeTimeoutSeconds = 5

/** One stream at a time on each connection. */
const cursorName = 'headgate_rows'

export interface PostgresOptions {
  /** Null: queries have no timeout. */
  queryTimeoutMs?: number | null | undefined
  poolSize?: number
}

/**
 * Kysely on the runtime's own client, which recovers from a lost connection; the drivers tried before it
 * hung.
 */
export class BunPostgresDialect implements Dialect {
  readonly #url: string
  readonly #changes: ChangeCounter
  readonly #barrier: ReadBarrier
  readonly #options: PostgresOptions

  constructor(url: string, changes: ChangeCounter, barrier: ReadBarrier, options: PostgresOptions) {
    this.#url = url
    this.#changes = changes
    this.#barrier = barrier
    this.#options = options
  }

  createDriver(): Driver {
    return new PostgresDriver(this.#url, this.#changes, this.#barrier, this.#options)
  }
  createQueryCompiler() {
    return new PostgresQueryCompiler()
  }
  createAdapter() {
    return new PostgresAdapter()
  }
  createIntrospector(db: Kysely<unknown>) {
    return new PostgresIntrospector(db)
  }
}

function withQueryTimeout<T>(queryTimeoutMs: number | null, work: Promise<T>): Promise<T> {
  if (queryTimeoutMs === null) return work
  return withDeadline(queryTimeoutMs, work, () => new QueryTimeoutError('the database does not respond'))
}

class PostgresDriver implements Driver {
  readonly #pool: SQL
  readonly #changes: ChangeCounter
  readonly #barrier: ReadBarrier
  readonly #queryTimeoutMs: number | null

  constructor(
    url: string,
    changes: ChangeCounter,
    barrier: ReadBarrier,
    { queryTimeoutMs = defaultQueryTimeoutMs, poolSize = defaultPoolSize }: PostgresOptions,
  ) {
    this.#changes = changes
    this.#pool = openPool(url, { max: poolSize, connectionTimeout: connectTimeoutSeconds })
    this.#barrier = barrier
    this.#queryTimeoutMs = queryTimeoutMs
  }

  async init(): Promise<void> {
    await this.#pool.connect()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const reserving = this.#pool.reserve()
    try {
      const connection = await withQueryTimeout(this.#queryTimeoutMs, reserving)
      return new PostgresConnection(connection, this.#changes, this.#barrier, this.#queryTimeoutMs)
    } catch (error) {
      // A connection that arrives too late goes back to the pool.
      void reserving.then(
        (connection) => connection.release(),
        () => undefined,
      )
      throw error
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    if (connection instanceof PostgresConnection) connection.release()
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    await this.#barrier.wait()
    const level = settings.isolationLevel ? ` isolation level ${settings.isolationLevel}` : ''
    const mode = settings.accessMode ? ` ${settings.accessMode}` : ''
    await connection.executeQuery(CompiledQuery.raw(`start transaction${level}${mode}`))
    this.#changes.beginTransaction(connection)
    if (connection instanceof PostgresConnection) connection.isInTransaction = true
  }
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
    this.#changes.endTransaction(connection)
  }
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
    this.#changes.endTransaction(connection)
  }

  async destroy(): Promise<void> {
    await this.#pool.close({ timeout: closeTimeoutSeconds })
  }
}

class PostgresConnection implements DatabaseConnection {
  readonly #connection: ReservedSQL
  readonly #changes: ChangeCounter
  readonly #barrier: ReadBarrier
  readonly #queryTimeoutMs: number | null
  /** Its transaction has waited when it began. */
  isInTransaction = false

  constructor(
    connection: ReservedSQL,
    changes: ChangeCounter,
    barrier: ReadBarrier,
    queryTimeoutMs: number | null,
  ) {
    this.#connection = connection
    this.#changes = changes
    this.#barrier = barrier
    this.#queryTimeoutMs = queryTimeoutMs
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (!this.isInTransaction && this.#barrier.appliesTo(query.sql)) await this.#barrier.wait()
    const pending = this.#connection.unsafe(query.sql, [...query.parameters])
    try {
      const result = await withQueryTimeout(this.#queryTimeoutMs, pending)
      this.#changes.recordQuery(this, query)
      return { rows: [...result], numAffectedRows: BigInt(result.count ?? 0) }
    } catch (error) {
      // The state of an unresponsive connection is unknown.
      if (error instanceof QueryTimeoutError)
        void this.#connection.close({ timeout: 0 }).catch(() => undefined)
      throw error
    }
  }

  /** Reads through a cursor, so that the client never has all rows. Only within a transaction. */
  async *streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    await this.executeQuery({ ...query, sql: `declare ${cursorName} no scroll cursor for ${query.sql}` })
    for (;;) {
      const chunk = await this.executeQuery<Row>(CompiledQuery.raw(`fetch ${chunkSize} from ${cursorName}`))
      if (chunk.rows.length > 0) yield chunk
      if (chunk.rows.length < chunkSize) break
    }
    await this.executeQuery(CompiledQuery.raw(`close ${cursorName}`))
  }

  release(): void {
    this.#connection.release()
  }
}
