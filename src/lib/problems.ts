import type { z } from 'zod'

export interface Problem {
  path: (string | number)[]
  message: string
}

/** What is wrong with a value, one entry a field; an unknown field is named by itself, not by its parent. */
export function problemsOf(error: z.ZodError): Problem[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.filter((key) => typeof key !== 'symbol')
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    return issue.keys.map((key) => ({ path: [...path, key], message: 'is not a known field' }))
  })
}
