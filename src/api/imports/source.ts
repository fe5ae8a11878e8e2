import type { Variables } from './litellm/variables.ts'

/** What was given cannot be read. The message quotes no value: it may be a secret. */
export class SourceError extends Error {}

export type { Variables }

export type Row = Readonly<Record<string, unknown>>
/** The rows of tables by their names. A table that does not exist is not in it. */
export type Tables = ReadonlyMap<string, readonly Row[]>

/** A file, or a database. */
export interface ImportDocument {
  name: string
  /** Its text; null for a database. */
  text: string | null
  /** The parsed JSON or YAML; undefined if it is neither. */
  value: unknown
  tables: Tables
}

/** Of one table. */
export const maxRows = 20_000

export function tooManyRowsError(table: string): SourceError {
  return new SourceError(`${table} has more than ${maxRows} rows.`)
}
