import type { ProviderPreferences } from '../../formats/schema/preferences.ts'
import type { CompiledCondition } from '../../platform/cel/condition.ts'
import type { Result, Values, ValueType } from '../../platform/cel/expression.ts'

/** What a condition can read of a request. */
export const ruleVariables = {
  model: 'string',
  operation: 'string',
  stream: 'bool',
  tags: 'map',
  end_user: 'string',
  workspace: 'string',
  key: 'string',
  key_hash: 'string',
  member: 'string',
  region: 'string',
  time: 'timestamp',
  input_tokens: 'int',
  images: 'int',
  language: 'string',
  tools: 'list',
  uses_tools: 'bool',
} as const satisfies Record<string, ValueType>

export type RuleVariable = keyof typeof ruleVariables
/** A property may be computed when it is read. */
export type RuleFacts = Values & Readonly<Record<RuleVariable, Result>>

/** What a rule does with a request: it is rejected, or changed in any of the other ways. */
export interface RuleAction {
  /** In the order they are tried, instead of the requested ones. */
  models?: string[] | undefined
  provider?: ProviderPreferences | undefined
  tags?: Record<string, string> | undefined
  reject?: { message: string } | undefined
}

export interface RoutingRule {
  id: string
  name: string
  condition: CompiledCondition
  action: RuleAction
}

/** The rules for the requests of a workspace, in their order, and its slug. */
export interface WorkspaceRules {
  workspace: string
  rules: readonly RoutingRule[]
}

/** The first rule whose condition holds. One that cannot be evaluated does not. */
export function findMatch(
  rules: readonly RoutingRule[],
  facts: RuleFacts,
  onFailure: (rule: RoutingRule, error: unknown) => void,
): RoutingRule | null {
  for (const rule of rules) {
    if (!canApply(rule, facts)) continue
    try {
      if (rule.condition.test(facts)) return rule
    } catch (error) {
      onFailure(rule, error)
    }
  }
  return null
}

/** What a video may cost is computed for the model that the client requested. */
function canApply({ action }: RoutingRule, { operation }: RuleFacts): boolean {
  return action.models === undefined || operation !== 'video'
}
