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
import type { Changes } from './changes.ts'
import type { Gate } from './gate.ts'

/**
 * Kysely on bun:sqlite. Ours, and not a package, for three reasons: a transaction must begin IMMEDIATE
 * (a deferred one that turns into a writer fails at once when another process writes), waiting callers
 * are served in order, and statements are prepared once.
 */
export class BunSqliteDialect implements Dialect {
  readonly #path: string
  readonly #changes: Changes
  readonly #gate: Gate

  constructor(path: string, changes: Changes, gate: Gate) {
    this.#path = path
    this.#changes = changes
    this.#gate = gate
  }

  createDriver(): Driver {
    return new SqliteDriver(this.#path, this.#changes, this.#gate)
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

/** SQLite rolls back changes of the schema as it does any other, so a migration that is interrupted leaves nothing. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl() {
    return true
  }
}

/** How long another process may hold the database, and how often it is asked for. */
const busyMs = 5000
const retryMs = 10

class SqliteDriver implements Driver {
  readonly #database: Database
  readonly #connection: SqliteConnection
  readonly #changes: Changes
  readonly #gate: Gate
  #lastHolder: Promise<void> = Promise.resolve()
  #release: () => void = () => undefined

  constructor(path: string, changes: Changes, gate: Gate) {
    this.#database = new Database(path, { create: true, safeIntegers: true })
    this.#connection = new SqliteConnection(this.#database, changes, gate)
    this.#changes = changes
    this.#gate = gate
  }

  async init(): Promise<void> {
    // Waited for where it stands only here; later, another process that writes holds up nobody.
    const first = [`busy_timeout=${busyMs}`, 'journal_mode=WAL']
    for (const pragma of [...first, 'synchronous=FULL', 'foreign_keys=ON', 'busy_timeout=0']) {
      this.#database.run(`PRAGMA ${pragma}`)
    }
  }

  /** One connection, handed over in the order it was asked for. */
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
    // Whoever writes within it keeps the ledger out until the end.
    await this.#gate.caughtUp()
    const begin = accessMode === 'read only' ? 'begin' : 'begin immediate'
    await connection.executeQuery(CompiledQuery.raw(begin))
    this.#changes.began(connection)
  }
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
    this.#changes.ended(connection)
  }
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
    this.#changes.ended(connection)
  }

  async destroy(): Promise<void> {
    this.#database.close()
  }
}

/** Queries with lists have a text for each length: they come and go. */
const mostStatements = 500

type Binding = string | number | bigint | boolean | null | Uint8Array

class SqliteConnection implements DatabaseConnection {
  readonly #database: Database
  readonly #changes: Changes
  readonly #gate: Gate
  readonly #statements = new Map<string, Statement<unknown, Binding[]>>()

  constructor(database: Database, changes: Changes, gate: Gate) {
    this.#database = database
    this.#changes = changes
    this.#gate = gate
  }

  /** Another process that writes is waited for without holding up this one; a busy statement has done nothing yet. */
  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (!this.#database.inTransaction && this.#gate.concerns(query.sql)) await this.#gate.caughtUp()
    for (const deadline = performance.now() + busyMs; ; await Bun.sleep(retryMs)) {
      try {
        const result = this.#run<Row>(query)
        this.#changes.ran(this, query)
        return result
      } catch (error) {
        const busy = error instanceof SQLiteError && error.code === 'SQLITE_BUSY'
        if (!busy || performance.now() > deadline) throw error
      }
    }
  }

  #run<Row>(query: CompiledQuery): QueryResult<Row> {
    const statement = this.#statement(query.sql)
    const bindings = query.parameters as Binding[]
    if (statement.columnNames.length > 0) return { rows: statement.all(...bindings) as Row[] }
    const { changes, lastInsertRowid } = statement.run(...bindings)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }

  /** The runtime's own cache holds twenty, which is fewer than one request may need. */
  #statement(sql: string): Statement<unknown, Binding[]> {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#database.prepare<unknown, Binding[]>(sql)
    this.#statements.set(sql, statement)
    if (this.#statements.size > mostStatements) this.#forgetOldest()
    return statement
  }

  #forgetOldest(): void {
    const [oldest] = this.#statements
    if (!oldest) return
    this.#statements.delete(oldest[0])
    oldest[1].finalize()
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query)
  }
}
