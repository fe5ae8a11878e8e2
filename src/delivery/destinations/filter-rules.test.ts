import { describe, expect, test } from 'bun:test'
import { flattenIssues } from '../../platform/validation/validation-issues.ts'
import { filterRules } from './filter-rules.ts'

const rules = (...list: unknown[]) => ({ groups: [{ rules: list }] })
const problem = (value: unknown) => {
  const result = filterRules.safeParse(value)
  return result.success ? null : flattenIssues(result.error)[0]?.path.join('.')
}

describe('E17 filter_rules', () => {
  test('E17 rules are enabled and combined with and by default', () => {
    expect(filterRules.parse(rules({ field: 'model', operator: 'equals', value: 'x' }))).toEqual({
      enabled: true,
      groups: [{ logic: 'and', rules: [{ field: 'model', operator: 'equals', value: 'x' }] }],
    })
  })

  test.each([
    { field: 'model', operator: 'not_equals', value: 'x' },
    { field: 'total_tokens', operator: 'equals', value: 5 },
    { field: 'provider', operator: 'contains', value: 'x' },
    { field: 'session_id', operator: 'not_contains', value: 'x' },
    { field: 'user_id', operator: 'starts_with', value: 'x' },
    { field: 'api_key_name', operator: 'ends_with', value: 'x' },
    { field: 'input', operator: 'regex', value: '^(a|b)+$' },
    { field: 'output', operator: 'exists' },
    { field: 'finish_reason', operator: 'not_exists' },
    { field: 'total_cost', operator: 'gt', value: 0.5 },
    { field: 'model', operator: 'equals' },
    { field: 'input', operator: 'regex' },
    { field: 'total_cost', operator: 'gt' },
    { field: 'prompt_tokens', operator: 'gte', value: 5 },
    { field: 'completion_tokens', operator: 'lt', value: 5 },
    { field: 'completion_tokens', operator: 'lte', value: -5 },
    { field: 'model', operator: 'exists', value: 'x' },
    { field: 'total_cost', operator: 'gt', value: '5' },
    { field: 'model', operator: 'contains', value: 5 },
    { field: 'input', operator: 'regex', value: 5 },
  ])('E17 %o is a rule', (rule) => {
    expect(problem(rules(rule))).toBeNull()
  })

  test.each([
    ['field unknown', { field: 'colour', operator: 'exists' }, 'field'],
    ['operator unknown', { field: 'model', operator: 'like', value: 'x' }, 'operator'],
    ['value null', { field: 'model', operator: 'equals', value: null }, 'value'],
    ['value a list', { field: 'model', operator: 'equals', value: ['x'] }, 'value'],
    ['a pattern that is none', { field: 'input', operator: 'regex', value: '(' }, 'value'],
    ['a pattern with a look-ahead', { field: 'input', operator: 'regex', value: '(?=a)b' }, 'value'],
    ['a pattern with a back-reference', { field: 'input', operator: 'regex', value: '(a)\\1' }, 'value'],
    ['a field too many', { field: 'model', operator: 'exists', not: true }, 'not'],
    ['too long a value', { field: 'model', operator: 'equals', value: 'x'.repeat(1001) }, 'value'],
  ])('E17 %s is rejected', (_, rule, field) => {
    expect(problem(rules(rule))).toBe(`groups.0.rules.0.${field}`)
  })

  test('S13 all patterns together are bounded, and the error names the first one too many', () => {
    const heavy = { field: 'input', operator: 'regex', value: `(?i)${'\\pL'.repeat(320)}` }
    expect(problem(rules(heavy))).toBeNull()
    expect(problem(rules(...Array(50).fill(heavy)))).toMatch(/^groups\.0\.rules\.[1-5]\.value$/)
  })

  test('S13 groups and rules are bounded', () => {
    const rule = { field: 'model', operator: 'exists' }
    expect(problem(rules(...Array(50).fill(rule)))).toBeNull()
    expect(problem(rules(...Array(51).fill(rule)))).toBe('groups.0.rules')
    expect(problem({ groups: Array(21).fill({ rules: [] }) })).toBe('groups')
    expect(problem({})).toBe('groups')
  })
})
