import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asNumber, type JsonObject } from '../../platform/json/json-values.ts'
import type { PreparedTools, StopCondition } from '../tools/prepared-tools.ts'

/** Calls of server tools in one request, unless it has conditions of its own. */
const maxToolCalls = 30
/** Conditions can be such that they never apply. */
const maxCallsWithConditions = 100

type Budget = Pick<PreparedTools, 'maxCalls' | 'stopWhen'>

/** The limits of a request; the conditions have passed the schema of its format. */
export function readBudget(body: JsonObject): Budget {
  const maxCalls = asNumber(body.max_tool_calls) ?? maxToolCalls
  if (maxCalls > maxToolCalls) throw invalidFieldError('max_tool_calls', `must be at most ${maxToolCalls}`)
  const stopWhen = Array.isArray(body.stop_server_tools_when)
    ? (body.stop_server_tools_when as StopCondition[])
    : []
  return { maxCalls: stopWhen.length > 0 ? maxCallsWithConditions : maxCalls, stopWhen }
}

/** A finished turn, and what the request has used so far. */
export interface LoopProgress {
  /** The turns so far. */
  steps: number
  /** Calls that were made, including those that failed. */
  calls: number
  /** The names of the functions and tools that the turn called. */
  names: ReadonlySet<string>
  finishReason: string | null
  tokens: number
  /** Cost in USD. */
  cost: number
}

/** Finds the limit or condition because of which no further tool may run; null if there is none. */
export function findStop({ maxCalls, stopWhen }: Budget, progress: LoopProgress): string | null {
  const condition = stopWhen.find((stop) => isMet(stop, progress))
  if (condition) return condition.type
  return progress.calls >= maxCalls ? 'max_tool_calls' : null
}

function isMet(condition: StopCondition, progress: LoopProgress): boolean {
  switch (condition.type) {
    case 'step_count_is':
      return progress.steps >= condition.step_count
    case 'has_tool_call':
      return progress.names.has(condition.tool_name)
    case 'max_tokens_used':
      return progress.tokens >= condition.max_tokens
    case 'max_cost':
      return progress.cost >= condition.max_cost_in_dollars
    case 'finish_reason_is':
      return progress.finishReason === condition.reason
  }
}
