import type { z } from 'zod'

export interface ValidationIssue {
  path: (string | number)[]
  message: string
}

const maxIssues = 50

/** One issue per field; an unknown field is reported under its own path, not that of its parent. */
export function flattenIssues(error: z.ZodError): ValidationIssue[] {
  const issues = error.issues.slice(0, maxIssues).flatMap((issue) => {
    const path = issue.path.filter((key) => typeof key !== 'symbol')
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    const keys = issue.keys.slice(0, maxIssues)
    return keys.map((key) => ({ path: [...path, key], message: 'is not a known field' }))
  })
  return issues.slice(0, maxIssues)
}
