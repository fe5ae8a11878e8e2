import type { z } from 'zod'

export interface ValidationIssue {
  path: (string | number)[]
  message: string
}

const maxIssues = 50

/** One issue per field; an unknown field is reported under its own path, not that of its parent. */
export function flattenIssues(error: z.ZodError): ValidationIssue[] {
  return flattenList(error.issues)
}

function flattenList(list: readonly z.core.$ZodIssue[]): ValidationIssue[] {
  const issues = list.slice(0, maxIssues).flatMap((issue) => {
    const path = issue.path.filter((key) => typeof key !== 'symbol')
    const option =
      issue.code === 'invalid_union' && issue.message === defaultUnionMessage && findOption(issue)
    if (option) return flattenList(option).map((nested) => ({ ...nested, path: [...path, ...nested.path] }))
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    const keys = issue.keys.slice(0, maxIssues)
    return keys.map((key) => ({ path: [...path, key], message: 'is not a known field' }))
  })
  return issues.slice(0, maxIssues)
}

/** Of a union that does not say what it must be. */
const defaultUnionMessage = 'Invalid input'

/** The issues of the only option that accepts values of this type; undefined if there is none. */
function findOption({ errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | undefined {
  const options = errors.filter((issues) =>
    issues.every(({ code, path }) => path.length > 0 || code !== 'invalid_type'),
  )
  return options.length === 1 ? options[0] : undefined
}
