import type { z } from 'zod'
import { badFields } from '../errors.ts'
import { problemsOf } from './problems.ts'

/** Of the problems of a request that are listed. */
const mostIssues = 50

/** Every problem is listed in the metadata; the message is the first one. */
export function check<T>(schema: z.ZodType<T>, value: unknown, root: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [first, ...more] = problemsOf(result.error)
    .slice(0, mostIssues)
    .map(({ path, message }) => ({
      field: path.join('.') || root,
      message,
    }))
  throw badFields([first ?? { field: root, message: 'is not valid' }, ...more])
}
