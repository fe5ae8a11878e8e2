import type { z } from 'zod'

export interface ValidationIssue {
  path: (string | number)[]
  message: string
}

/** More are not worth reading. */
const maxIssues = 50

/** What is wrong with a value, one entry a field; an unknown field is named by itself, not by its parent. */
export function flattenIssues(error: z.ZodError): ValidationIssue[] {
  const issues = error.issues.slice(0, maxIssues).flatMap((issue) => {
    const path = issue.path.filter((key) => typeof key !== 'symbol')
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    const keys = issue.keys.slice(0, maxIssues)
    return keys.map((key) => ({ path: [...path, key], message: 'is not a known field' }))
  })
  return issues.slice(0, maxIssues)
}
