import type { z } from 'zod'
import { invalidFieldsError } from '../errors/gateway-error.ts'
import { flattenIssues } from './validation-issues.ts'

/** JSON values; for more, validation stops at the first array with an issue, as describing costs more than checking. */
const maxValuesWithAllIssues = 1000
const abortEarly: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true }

/** `valueCount` is the number of JSON values in `value`; `prefix` stands before the names of its fields in errors. */
export function validateInput<T>(
  schema: z.ZodType<T>,
  value: unknown,
  root: string,
  valueCount = 0,
  prefix = '',
): T {
  const result = schema.safeParse(value, valueCount > maxValuesWithAllIssues ? abortEarly : undefined)
  if (result.success) return result.data
  const [first, ...more] = flattenIssues(result.error).map(({ path, message }) => ({
    field: path.length > 0 ? prefix + path.join('.') : root,
    message,
  }))
  throw invalidFieldsError([first ?? { field: root, message: 'is not valid' }, ...more])
}
