import type { z } from 'zod'

export interface Problem {
  path: (string | number)[]
  message: string
}

/** More are not worth reading. */
const mostProblems = 50

/** What is wrong with a value, one entry a field; an unknown field is named by itself, not by its parent. */
export function problemsOf(error: z.ZodError): Problem[] {
  const problems = error.issues.slice(0, mostProblems).flatMap((issue) => {
    const path = issue.path.filter((key) => typeof key !== 'symbol')
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    const keys = issue.keys.slice(0, mostProblems)
    return keys.map((key) => ({ path: [...path, key], message: 'is not a known field' }))
  })
  return problems.slice(0, mostProblems)
}
