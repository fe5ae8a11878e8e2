import { type Condition, compileCondition } from '../../../platform/cel/condition.ts'
import { CelError } from '../../../platform/cel/tokens.ts'

/** The claims of a subject token that a condition can read. */
export interface SubjectClaims {
  subject: string
  audience: string
  scopes: string[]
  token_type: string
}

const variables = { subject: 'string', audience: 'string', scopes: 'list', token_type: 'string' } as const

/** Throws a CelError that says what is wrong with the text. */
function compilePolicyCondition(text: string): Condition {
  return compileCondition(text, variables)
}

export function findConditionProblem(text: string): string | null {
  try {
    compilePolicyCondition(text)
    return null
  } catch (error) {
    if (error instanceof CelError) return error.message
    throw error
  }
}

/** A condition that cannot be read is not met. */
export function meetsCondition(text: string, claims: SubjectClaims): boolean {
  return findConditionProblem(text) === null && compilePolicyCondition(text)({ ...claims })
}
