import { z } from 'zod'
import { PatternBudget } from '../lib/pattern.ts'
import { ifFieldIn } from '../lib/schema-rules.ts'

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

/** The value each operator compares with. */
const operators = {
  equals: 'any',
  not_equals: 'any',
  contains: 'string',
  not_contains: 'string',
  regex: 'string',
  starts_with: 'string',
  ends_with: 'string',
  gt: 'number',
  lt: 'number',
  gte: 'number',
  lte: 'number',
  exists: 'nothing',
  not_exists: 'nothing',
} as const

type Operator = keyof typeof operators

const rule = z
  .strictObject({
    field: z.enum(fields),
    operator: z.enum(Object.keys(operators) as [Operator, ...Operator[]]),
    value: z
      .union([z.string().max(1000), z.number()], 'must be a string of at most 1000 characters, or a number')
      .optional()
      .describe(
        'A number for gt, lt, gte and lte; a pattern in RE2 syntax for regex. Not allowed for exists and not_exists. Defaults to the empty string, or to 0.',
      ),
  })
  .superRefine(({ operator, value }, context) => {
    const message = findValueProblem(operator, value)
    if (message !== null) context.addIssue({ code: 'custom', path: ['value'], message })
  })
  .meta({
    override: {
      allOf: [
        ifFieldIn('operator', listOperators('nothing'), { not: { required: ['value'] } }),
        ifFieldIn('operator', listOperators('string'), { properties: { value: { type: 'string' } } }),
        ifFieldIn('operator', listOperators('number'), { properties: { value: { type: 'number' } } }),
      ],
    },
  })

function listOperators(valueKind: (typeof operators)[Operator]): string[] {
  return Object.entries(operators).flatMap(([name, kind]) => (kind === valueKind ? [name] : []))
}

function findValueProblem(operator: Operator, value: string | number | undefined): string | null {
  const valueKind = operators[operator]
  if (valueKind === 'nothing') return value === undefined ? null : `is not used by ${operator}`
  if (value === undefined) return null
  if (valueKind !== 'any' && typeof value !== valueKind) return `must be a ${valueKind} for ${operator}`
  return null
}

const group = z.strictObject({
  logic: z.enum(['and', 'or']).default('and').describe('How the rules of this group are combined.'),
  rules: z.array(rule).max(50),
})

/** For all patterns of one destination together: every report is matched against them. */
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
