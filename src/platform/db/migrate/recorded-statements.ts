import {
  type CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import { buildIndex, type Step } from './steps.ts'

class RecordingConnection implements DatabaseConnection {
  readonly statements: string[] = []

  /** Queries return no rows. */
  async executeQuery<R>({ sql }: CompiledQuery): Promise<QueryResult<R>> {
    this.statements.push(sql.replace(/\s+/g, ' ').trim())
    return { rows: [] }
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new Error('a migration reads no streams')
  }
}

class RecordingDriver extends DummyDriver {
  readonly #connection: RecordingConnection

  constructor(connection: RecordingConnection) {
    super()
    this.#connection = connection
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }
}

/** The statements of a step on PostgreSQL, without a database. What it does with rows that it reads is not among them. */
export async function recordStatements(step: Step): Promise<string[]> {
  const connection = new RecordingConnection()
  const db = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new RecordingDriver(connection),
      createIntrospector: (database) => new PostgresIntrospector(database),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  if (step.kind === 'index') await buildIndex(db, step.index, { isConcurrent: true }).execute(db)
  else if (step.kind === 'backfill') await step.runBatch(db, null, 1)
  else await step.run(db)
  return connection.statements
}
