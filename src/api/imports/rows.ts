import type { z } from 'zod'
import { flattenIssues } from '../../platform/validation/validation-issues.ts'
import { type Row, SourceError } from './source.ts'

/** A row as its schema says; the error names the table and the column, never a value. */
export function parseRow<S extends z.ZodType>(table: string, schema: S, value: Row): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = flattenIssues(result.error)
  throw new SourceError(`${table} has a row that cannot be read: ${issue?.path.join('.')} ${issue?.message}.`)
}
