/** A statement past the query builder, with the placeholders of its database. Values that are objects become JSON. */
export interface Statement {
  sql: string
  values: readonly unknown[]
}

export type Row = Record<string, unknown>

/** What is neither text nor number is kept as JSON. */
export function toBinding(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

/** What may be done inside one transaction. */
export interface Batch {
  rows(statements: readonly Statement[]): Promise<Row[]>
  run(statements: readonly Statement[]): Promise<void>
}

/** A connection of its own, for the few transactions that every request makes: all of each, or nothing. */
export interface BatchConnection {
  transact<T>(work: (batch: Batch) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** The data itself was refused, and will be again; anything else may go better next time. */
export function isRejectedData(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errno } = error as { code?: unknown; errno?: unknown }
  const sqlite = /^SQLITE_(?:CONSTRAINT|TOOBIG|MISMATCH|RANGE|ERROR)/
  return sqlite.test(String(code)) || /^(?:22|23|42|54)[0-9A-Z]{3}$/.test(String(errno))
}
