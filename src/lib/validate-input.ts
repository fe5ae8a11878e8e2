import type { z } from 'zod'
import { invalidFieldsError } from '../errors/gateway-error.ts'
import { flattenIssues } from './validation-issues.ts'

/** In a larger value the search ends with the first list that has a problem: to describe each costs more than to check it. */
const maxValuesWithAllIssues = 1000
const abortEarly: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true }

/** Problems are listed in the metadata; the message is the first one. `values` says how large the value is. */
export function validateInput<T>(schema: z.ZodType<T>, value: unknown, root: string, valueCount = 0): T {
  const result = schema.safeParse(value, valueCount > maxValuesWithAllIssues ? abortEarly : undefined)
  if (result.success) return result.data
  const [first, ...more] = flattenIssues(result.error).map(({ path, message }) => ({
    field: path.join('.') || root,
    message,
  }))
  throw invalidFieldsError([first ?? { field: root, message: 'is not valid' }, ...more])
}
