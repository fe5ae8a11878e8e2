import { z } from 'zod'
import { PatternBudget } from '../../platform/text/pattern.ts'

const fields = [
  'model',
  'provider',
  'session_id',
  'user_id',
  'api_key_name',
  'finish_reason',
  'input',
  'output',
  'total_cost',
  'total_tokens',
  'prompt_tokens',
  'completion_tokens',
] as const

const operators = [
  'equals',
  'not_equals',
  'contains',
  'not_contains',
  'regex',
  'starts_with',
  'ends_with',
  'gt',
  'lt',
  'gte',
  'lte',
  'exists',
  'not_exists',
] as const

const rule = z.strictObject({
  field: z.enum(fields),
  operator: z.enum(operators),
  value: z
    .union([z.string().max(1000), z.number()], 'must be a string of at most 1000 characters, or a number')
    .optional()
    .describe(
      'Compared as a number by gt, lt, gte and lte, where a text that is no number matches nothing, and as a text by the other operators; a pattern in RE2 syntax for regex. Without effect for exists and not_exists. Defaults to the empty string, or to 0.',
    ),
})

const group = z.strictObject({
  logic: z.enum(['and', 'or']).default('and').describe('How the rules of this group are combined.'),
  rules: z.array(rule).max(50),
})

/** Limits for all patterns of one destination together: every report is matched against them. */
const patternLimits = { characters: 5000, size: 10_000 }

export const filterRules = z
  .strictObject({ enabled: z.boolean().default(true), groups: z.array(group).max(20) })
  .superRefine(({ groups }, context) => {
    const budget = new PatternBudget(patternLimits)
    for (const [at, { rules }] of groups.entries()) {
      for (const [index, { operator, value }] of rules.entries()) {
        const problem = operator === 'regex' ? budget.findProblem(String(value ?? '')) : null
        if (problem === null) continue
        const message = `is not a supported pattern: ${problem}`
        context.addIssue({ code: 'custom', path: ['groups', at, 'rules', index, 'value'], message })
        return
      }
    }
  })
  .meta({ id: 'ObservabilityFilterRules' })

export type FilterRules = z.output<typeof filterRules>
export type FilterRule = z.output<typeof rule>
export type FilterField = FilterRule['field']
