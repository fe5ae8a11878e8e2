import { type ReservedSQL, SQL } from 'bun'
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

const poolSize = 10
const connectSeconds = 10
/** A pool that cannot be closed in this time is left to the end of the process. */
const closeSeconds = 5

/** Kysely on the runtime's own client, which gets over a lost connection; the drivers tried before it hung. */
export class BunPostgresDialect implements Dialect {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  createDriver(): Driver {
    return new PostgresDriver(this.#url)
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

class PostgresDriver implements Driver {
  readonly #pool: SQL

  constructor(url: string) {
    this.#pool = new SQL(url, { max: poolSize, connectionTimeout: connectSeconds, bigint: true })
  }

  async init(): Promise<void> {
    await this.#pool.connect()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return new PostgresConnection(await this.#pool.reserve())
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    if (connection instanceof PostgresConnection) connection.release()
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const level = settings.isolationLevel ? ` isolation level ${settings.isolationLevel}` : ''
    await connection.executeQuery(CompiledQuery.raw(`start transaction${level}`))
  }
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
  }

  async destroy(): Promise<void> {
    await this.#pool.close({ timeout: closeSeconds })
  }
}

class PostgresConnection implements DatabaseConnection {
  readonly #connection: ReservedSQL

  constructor(connection: ReservedSQL) {
    this.#connection = connection
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const result = await this.#connection.unsafe(query.sql, [...query.parameters])
    return { rows: [...result], numAffectedRows: BigInt(result.count ?? 0) }
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query)
  }

  release(): void {
    this.#connection.release()
  }
}
