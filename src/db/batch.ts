/** A statement past the query builder, with the placeholders of its database. */
export interface Statement {
  sql: string
  values: readonly unknown[]
}

/** Runs statements in one transaction: all of them, or none. */
export interface BatchWriter {
  writeBatch(statements: readonly Statement[]): Promise<void>
}
