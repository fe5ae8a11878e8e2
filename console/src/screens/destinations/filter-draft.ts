import type { Schemas } from '../../api/client.ts'

type FilterRules = Schemas['ObservabilityFilterRules']
type FilterRule = FilterRules['groups'][number]['rules'][number]
export type FilterField = FilterRule['field']
export type FilterOperator = FilterRule['operator']
export type FilterLogic = FilterRules['groups'][number]['logic']

export interface FilterRuleDraft {
  key: string
  field: FilterField
  operator: FilterOperator
  value: string
}

export interface FilterGroupDraft {
  key: string
  logic: FilterLogic
  rules: FilterRuleDraft[]
}

/** The fields that a rule can read, and whether they are numbers. */
export const filterFields: Record<FilterField, { label: string; isNumber?: boolean }> = {
  model: { label: 'Model' },
  provider: { label: 'Provider' },
  session_id: { label: 'Session' },
  user_id: { label: 'User' },
  api_key_name: { label: 'Key name' },
  finish_reason: { label: 'Finish reason' },
  input: { label: 'Prompt' },
  output: { label: 'Reply' },
  total_cost: { label: 'Cost in USD', isNumber: true },
  total_tokens: { label: 'Tokens', isNumber: true },
  prompt_tokens: { label: 'Prompt tokens', isNumber: true },
  completion_tokens: { label: 'Reply tokens', isNumber: true },
}

/** The operators, and what they compare with. */
export const filterOperators: Record<
  FilterOperator,
  { label: string; value: 'any' | 'text' | 'number' | 'none' }
> = {
  equals: { label: 'is', value: 'any' },
  not_equals: { label: 'is not', value: 'any' },
  contains: { label: 'contains', value: 'text' },
  not_contains: { label: 'does not contain', value: 'text' },
  starts_with: { label: 'starts with', value: 'text' },
  ends_with: { label: 'ends with', value: 'text' },
  regex: { label: 'matches the pattern', value: 'text' },
  gt: { label: 'is above', value: 'number' },
  lt: { label: 'is below', value: 'number' },
  gte: { label: 'is at least', value: 'number' },
  lte: { label: 'is at most', value: 'number' },
  exists: { label: 'is present', value: 'none' },
  not_exists: { label: 'is absent', value: 'none' },
}

export function draftFilter(rules: FilterRules | null): FilterGroupDraft[] {
  return (rules?.groups ?? []).map(({ logic, rules }, at) => ({
    key: String(at),
    logic,
    rules: rules.map(({ field, operator, value }, index) => ({
      key: `${at}-${index}`,
      field,
      operator,
      value: String(value ?? ''),
    })),
  }))
}

/** Null if there is nothing to filter by. */
export function buildFilter(groups: FilterGroupDraft[], enabled: boolean): FilterRules | null {
  const filled = groups.filter(({ rules }) => rules.length > 0)
  if (filled.length === 0) return null
  return { enabled, groups: filled.map(({ logic, rules }) => ({ logic, rules: rules.map(buildRule) })) }
}

function buildRule({ field, operator, value }: FilterRuleDraft): FilterRule {
  const kind = filterOperators[operator].value
  if (kind === 'none') return { field, operator }
  const isNumber = kind === 'number' || (kind === 'any' && filterFields[field].isNumber === true)
  return { field, operator, value: isNumber ? Number(value) : value }
}

/** Whether every rule that needs a number has one. */
export function isFilterReady(groups: FilterGroupDraft[]): boolean {
  return groups
    .flatMap(({ rules }) => rules.map(buildRule))
    .every(({ value }) => typeof value !== 'number' || Number.isFinite(value))
}
