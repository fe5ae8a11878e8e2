/** A statement past the query builder, with the placeholders of its database. Values that are objects become JSON. */
export interface Statement {
  sql: string
  values: readonly unknown[]
}

export type Row = Record<string, unknown>

/** What is neither text nor number is kept as JSON. */
export function binding(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

/** What may be done inside one transaction. */
export interface Batch {
  rows(statements: readonly Statement[]): Promise<Row[]>
  /** `mustLast`: through a power cut too. Otherwise it is enough that it outlives this process. */
  run(statements: readonly Statement[], mustLast: boolean): Promise<void>
}

/** A connection of its own, for the few transactions that every request makes: all of each, or nothing. */
export interface Batches {
  readonly isPostgres: boolean
  transact<T>(work: (batch: Batch) => Promise<T>): Promise<T>
  close(): Promise<void>
}
