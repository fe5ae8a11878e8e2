/**
 * A statement outside the query builder, with the placeholders of its database. Objects among the values
 * become JSON.
 */
export interface Statement {
  sql: string
  values: readonly unknown[]
}

export type Row = Record<string, unknown>

/** Anything but text and numbers is stored as JSON. */
export function toBinding(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

/** The operations of one transaction. */
export interface Batch {
  rows(statements: readonly Statement[]): Promise<Row[]>
  run(statements: readonly Statement[]): Promise<void>
}

/** A dedicated connection for the few transactions that every request makes. */
export interface BatchConnection {
  transact<T>(work: (batch: Batch) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** The database rejected the data itself, and a retry would fail again; other errors may be temporary. */
export function isRejectedData(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errno } = error as { code?: unknown; errno?: unknown }
  const sqlite = /^SQLITE_(?:CONSTRAINT|TOOBIG|MISMATCH|RANGE|ERROR)/
  return sqlite.test(String(code)) || /^(?:22|23|42|54)[0-9A-Z]{3}$/.test(String(errno))
}
