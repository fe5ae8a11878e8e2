import { type CompiledCondition, compileWithReads } from '../../platform/cel/condition.ts'
import { EvaluationError } from '../../platform/cel/expression.ts'
import { CelError } from '../../platform/cel/tokens.ts'
import { ruleVariables } from './rule.ts'

/** Characters. What a condition may cost follows from it: there are no loops. */
export const maxConditionLength = 2000

/** Conditions of rules: configuration is read again whenever anything about an account changes. */
const compiled = new Map<string, CompiledCondition>()
const maxCompiled = 5000

/** Throws a CelError that says what is wrong with the text. */
export function compileRuleCondition(text: string): CompiledCondition {
  return compileWithReads(text, ruleVariables)
}

export function findConditionProblem(text: string): string | null {
  try {
    compileRuleCondition(text)
    return null
  } catch (error) {
    if (error instanceof CelError) return error.message
    throw error
  }
}

/** The condition of a stored rule. One that another version of the gateway stored may not be valid: it never holds. */
export function compileStored(id: string, text: string): CompiledCondition {
  const key = `${id}\n${text}`
  const known = compiled.get(key)
  if (known) return known
  const condition = compileOrFail(text)
  if (compiled.size >= maxCompiled) compiled.clear()
  compiled.set(key, condition)
  return condition
}

function compileOrFail(text: string): CompiledCondition {
  try {
    return compileRuleCondition(text)
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    const failure = new EvaluationError(error.message)
    const test = () => {
      throw failure
    }
    return { test, reads: new Set() }
  }
}
