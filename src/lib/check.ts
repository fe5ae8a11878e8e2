import type { z } from 'zod'
import { badFields } from '../errors.ts'
import { problemsOf } from './problems.ts'

/** In a larger value the search ends with the first list that has a problem: to describe each costs more than to check it. */
const manyValues = 1000
const stopEarly: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true }

/** Problems are listed in the metadata; the message is the first one. `values` says how large the value is. */
export function check<T>(schema: z.ZodType<T>, value: unknown, root: string, values = 0): T {
  const result = schema.safeParse(value, values > manyValues ? stopEarly : undefined)
  if (result.success) return result.data
  const [first, ...more] = problemsOf(result.error).map(({ path, message }) => ({
    field: path.join('.') || root,
    message,
  }))
  throw badFields([first ?? { field: root, message: 'is not valid' }, ...more])
}
