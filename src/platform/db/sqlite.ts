import { Database, SQLiteError, type Statement } from 'bun:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely'
import type { ChangeCounter } from './change-counter.ts'
import type { ReadBarrier } from './read-barrier.ts'

/**
 * Kysely on bun:sqlite. Not a package, for three reasons: a transaction must begin IMMEDIATE (a deferred one
 * that becomes a writer fails at once when another process writes), waiting callers are served in order, and
 * statements are prepared once.
 */
export class BunSqliteDialect implements Dialect {
  readonly #path: string
  readonly #changes: ChangeCounter
  readonly #barrier: ReadBarrier

  constructor(path: string, changes: ChangeCounter, barrier: ReadBarrier) {
    this.#path = path
    this.#changes = changes
    this.#barrier = barrier
  }

  createDriver(): Driver {
    return new SqliteDriver(this.#path, this.#changes, this.#barrier)
  }
  createQueryCompiler() {
    return new SqliteQueryCompiler()
  }
  createAdapter() {
    return new TransactionalSqliteAdapter()
  }
  createIntrospector(db: Kysely<unknown>) {
    return new SqliteIntrospector(db)
  }
}

/** SQLite rolls back schema changes like any others, so an interrupted migration leaves nothing behind. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl() {
    return true
  }
}

/** Milliseconds to wait for the lock of another process, and between attempts to take it. */
const busyTimeoutMs = 5000
const busyRetryMs = 10

class SqliteDriver implements Driver {
  readonly #database: Database
  readonly #connection: SqliteConnection
  readonly #changes: ChangeCounter
  readonly #barrier: ReadBarrier
  #lastHolder: Promise<void> = Promise.resolve()
  #release: () => void = () => undefined

  constructor(path: string, changes: ChangeCounter, barrier: ReadBarrier) {
    this.#database = new Database(path, { create: true, safeIntegers: true })
    this.#connection = new SqliteConnection(this.#database, changes, barrier)
    this.#changes = changes
    this.#barrier = barrier
  }

  async init(): Promise<void> {
    // Blocks only here; later, waiting for another process that writes blocks nothing else.
    const first = [`busy_timeout=${busyTimeoutMs}`, 'journal_mode=WAL']
    for (const pragma of [...first, 'synchronous=FULL', 'foreign_keys=ON', 'busy_timeout=0']) {
      this.#database.run(`PRAGMA ${pragma}`)
    }
  }

  /** One connection, handed out in the order of requests. */
  async acquireConnection(): Promise<DatabaseConnection> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = this.#lastHolder
    this.#lastHolder = promise
    await before
    this.#release = resolve
    return this.#connection
  }

  async releaseConnection(): Promise<void> {
    this.#release()
  }

  async beginTransaction(connection: DatabaseConnection, { accessMode }: TransactionSettings): Promise<void> {
    // A write transaction locks out the ledger until it ends.
    await this.#barrier.wait()
    const begin = accessMode === 'read only' ? 'begin' : 'begin immediate'
    await connection.executeQuery(CompiledQuery.raw(begin))
    this.#changes.beginTransaction(connection)
  }
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
    this.#changes.endTransaction(connection)
  }
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A full disk ends the transaction by itself; a second rollback would hide that error.
    if (this.#database.inTransaction) await connection.executeQuery(CompiledQuery.raw('rollback'))
    this.#changes.endTransaction(connection)
  }

  async destroy(): Promise<void> {
    this.#database.close()
  }
}

/** Queries with lists have one text for each length, so their statements are not cached. */
const maxStatements = 500

type Binding = string | number | bigint | boolean | null | Uint8Array

class SqliteConnection implements DatabaseConnection {
  readonly #database: Database
  readonly #changes: ChangeCounter
  readonly #barrier: ReadBarrier
  readonly #statements = new Map<string, Statement<unknown, Binding[]>>()

  constructor(database: Database, changes: ChangeCounter, barrier: ReadBarrier) {
    this.#database = database
    this.#changes = changes
    this.#barrier = barrier
  }

  /**
   * Waits for another process that writes without blocking this one; a busy statement has done nothing yet.
   */
  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (!this.#database.inTransaction && this.#barrier.appliesTo(query.sql)) await this.#barrier.wait()
    for (const deadline = performance.now() + busyTimeoutMs; ; await Bun.sleep(busyRetryMs)) {
      try {
        const result = this.#run<Row>(query)
        this.#changes.recordQuery(this, query)
        return result
      } catch (error) {
        const busy = error instanceof SQLiteError && error.code === 'SQLITE_BUSY'
        if (!busy || performance.now() > deadline) throw error
      }
    }
  }

  #run<Row>(query: CompiledQuery): QueryResult<Row> {
    const statement = this.#prepare(query.sql)
    const bindings = query.parameters as Binding[]
    if (statement.columnNames.length > 0) return { rows: statement.all(...bindings) as Row[] }
    const { changes, lastInsertRowid } = statement.run(...bindings)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }

  /** The runtime's own cache has twenty entries, fewer than one request may need. */
  #prepare(sql: string): Statement<unknown, Binding[]> {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#database.prepare<unknown, Binding[]>(sql)
    this.#statements.set(sql, statement)
    if (this.#statements.size > maxStatements) this.#evictOldest()
    return statement
  }

  #evictOldest(): void {
    const [oldest] = this.#statements
    if (!oldest) return
    this.#statements.delete(oldest[0])
    oldest[1].finalize()
  }

  /** One row at a time. Other queries of this connection must wait for the end. */
  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    const statement = this.#database.prepare<Row, Binding[]>(query.sql)
    try {
      for (const row of statement.iterate(...(query.parameters as Binding[]))) yield { rows: [row] }
    } finally {
      statement.finalize()
    }
  }
}
